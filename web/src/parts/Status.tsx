import { Fold } from "./Fold";
import { Plain } from "./Plain";
import "./Status.css";

const SHORT = 140;

/** A quiet line about something that goes on. */
export function Status(props: {
  id: string;
  label: string;
  detail: string | null;
  busy?: boolean;
}) {
  const { id, label, detail, busy = false } = props;
  const words = (
    <span className="status-label">
      <Plain text={label.replaceAll(/[._]/g, " ")} />
    </span>
  );
  const bad = /fail|error|warning|refus/.test(label) ? "status bad" : "status";
  if (detail && (detail.length > SHORT || detail.trim().includes("\n"))) {
    return (
      <Fold
        id={id}
        className={bad}
        label={
          <>
            {words}
            <span className="cut status-detail">
              <Plain text={detail.trim().split("\n", 1)[0]?.slice(0, SHORT) ?? ""} />
            </span>
          </>
        }
      >
        <p className="status-whole">
          <Plain text={detail.trim()} />
        </p>
      </Fold>
    );
  }
  return (
    <p className={bad}>
      <span className="status-dot" data-busy={busy} aria-hidden="true" />
      {words}
      {detail && (
        <span className="status-detail">
          <Plain text={detail} />
        </span>
      )}
    </p>
  );
}
