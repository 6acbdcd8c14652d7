export { Daemon } from "../../clients/typescript/tests/daemon";
