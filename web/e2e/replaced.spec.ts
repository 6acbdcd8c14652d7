import { cpSync, rmSync } from "node:fs";
import { expect, openSession, test } from "./test";

test("an older copy of the data folder that is put back is said, and shown as it is", async ({
  inside: page,
  daemon,
}) => {
  const id = await openSession(page, daemon, "Put back");
  const log = page.getByRole("log");
  const say = async (text: string) => {
    const turn = daemon.client.streamTurn(id, `say ${text}`);
    while (!(await turn.next()).done);
  };
  await say("kept");
  await daemon.kill("SIGTERM");
  const copy = `${daemon.data}-copy`;
  cpSync(daemon.data, copy, { recursive: true });
  await daemon.start();
  await say("lost");
  await expect(log.getByText("lost", { exact: true })).toBeVisible();
  await expect(page.getByText("An older copy of this session")).toBeHidden();

  await daemon.kill("SIGTERM");
  rmSync(daemon.data, { recursive: true });
  cpSync(copy, daemon.data, { recursive: true });
  await daemon.start();
  await say("other");
  await expect(page.getByText("An older copy of this session was put back")).toBeVisible();
  await expect(log.getByText("other", { exact: true })).toBeVisible();
  await expect(log.getByText("kept", { exact: true })).toBeVisible();
  await expect(log.getByText("lost", { exact: true })).toHaveCount(0);
});
