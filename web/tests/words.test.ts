import { DragomanError, NoAnswer } from "dragoman-client";
import { expect, test } from "vitest";
import { reason } from "../src/ui/notices";
import { duration } from "../src/ui/words";

test.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [1_000, "1.0 s"],
  [9_949, "9.9 s"],
  [9_960, "10 s"],
  [59_600, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [3_599_400, "59 min 59 s"],
  [3_599_600, "1 h 0 min"],
  [1560 * 60_000 + 2_000, "26 h 0 min"],
])("%d ms are said as %s", (ms, said) => {
  expect(duration(ms)).toBe(said);
});

test("what failed is said so that nobody thinks it did not arrive", () => {
  const late = "The daemon did not answer within 30 s.";
  expect(reason(new NoAnswer("GET", 30_000))).toBe(late);
  expect(reason(new NoAnswer("POST", 30_000))).toBe(`${late} It may have got this, or not.`);
  expect(reason(new TypeError("x"))).toBe("The daemon cannot be reached.");
  const problem = { type: "urn:x:y", title: "No", status: 404 };
  expect(reason(new DragomanError(404, problem))).toBe("No");
});
