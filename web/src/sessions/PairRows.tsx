import { focusBeside } from "../ui/focus";
import { Icon } from "./Icon";
import { newPair, type Pair } from "./pairs";

/** Names with values, which may be secrets: they are neither shown nor kept. */
export function PairRows(props: {
  /** What one of them is, e.g. `variable`. */
  what: string;
  pairs: readonly Pair[];
  onChange: (pairs: readonly Pair[]) => void;
}) {
  const { what, pairs, onChange } = props;
  const change = (changed: Pair) =>
    onChange(pairs.map((pair) => (pair.key === changed.key ? changed : pair)));
  return (
    <div className="form-rows">
      {pairs.map((pair) => (
        <div key={pair.key} className="row">
          <input
            className="input mono grow"
            aria-label={`Name of the ${what}`}
            placeholder="NAME"
            autoComplete="off"
            spellCheck={false}
            value={pair.name}
            onChange={(event) => change({ ...pair, name: event.target.value })}
          />
          <input
            className="input mono grow"
            type="password"
            aria-label={`Value of the ${what} ${pair.name}`}
            placeholder="value"
            autoComplete="off"
            value={pair.value}
            onChange={(event) => change({ ...pair, value: event.target.value })}
          />
          <button
            type="button"
            className="button quiet small"
            aria-label={`Remove the ${what} ${pair.name}`}
            onClick={(event) => {
              focusBeside(event.currentTarget.parentElement);
              onChange(pairs.filter(({ key }) => key !== pair.key));
            }}
          >
            <Icon name="remove" />
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button small"
        onClick={() => onChange([...pairs, newPair()])}
      >
        <Icon name="plus" />
        Add a {what}
      </button>
    </div>
  );
}
