import { DragomanError } from "dragoman-client";
import { type FormEvent, useState } from "react";
import { reason } from "../ui/notices";
import { signIn } from "./api";

/** For whom the daemon does not know yet. */
export function Login(props: { wasInside: boolean; onIn: () => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await signIn(token.trim());
      props.onIn();
    } catch (error) {
      setProblem(refusal(error));
    }
  };
  return (
    <main className="login">
      <form className="card" onSubmit={submit}>
        <h1>Dragoman</h1>
        {props.wasInside && !problem && (
          <p role="alert" className="bad-text">
            Your sign-in is no longer good: it was revoked, or has expired.
          </p>
        )}
        <p>
          Run <code>dragoman ui</code> in a terminal: it opens this page and signs you in. Or give
          your token; <code>dragoman token</code> makes them.
        </p>
        <div className="field">
          <label htmlFor="token">Token</label>
          <input
            id="token"
            className="input mono"
            type="password"
            autoComplete="current-password"
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </div>
        {problem && (
          <p role="alert" className="bad-text">
            {problem}
          </p>
        )}
        <button type="submit" className="button primary" disabled={token.trim() === ""}>
          Sign in
        </button>
      </form>
    </main>
  );
}

/** The daemon's own words about a wrong token are for programs. */
function refusal(error: unknown): string {
  if (!(error instanceof DragomanError) || error.status !== 401) return reason(error);
  return "The daemon does not know this token. It may be another daemon's, or revoked, or expired.";
}
