import { useState } from "react";
import type { Draft } from "./draft";
import { FormField } from "./FormField";
import { Icon } from "./Icon";
import type { Offers } from "./useOffers";

const OTHER = "\u0000other";

interface ModelProps {
  draft: Draft;
  offers: Offers;
  loading: boolean;
  problem: (field: "model" | "variant") => string | null;
  onChange: (part: Partial<Draft>) => void;
  onRefresh: () => void;
}

/** The model and its variant: of what the agent offers, or any name that it may know. */
export function ModelFields(props: ModelProps) {
  const { draft, offers, onChange } = props;
  const [isFree, setFree] = useState(false);
  const model = offers.models.find(({ id }) => id === (draft.model || offers.defaultModel));
  const isOffered = draft.model === "" || offers.models.some(({ id }) => id === draft.model);
  const isTyped = isFree || (!isOffered && !props.loading);
  const choose = (chosen: string) => {
    setFree(chosen === OTHER);
    onChange({ model: chosen === OTHER ? "" : chosen, variant: "" });
  };
  return (
    <div className="form-two">
      <div className="field">
        <FormField
          label="Model"
          hint={props.loading ? "Asking the agent…" : null}
          problem={isTyped ? null : props.problem("model")}
        >
          {(wiring) => (
            <div className="row">
              <select
                {...wiring}
                className="input grow"
                value={isTyped ? OTHER : draft.model}
                onChange={(event) => choose(event.target.value)}
              >
                {/* Until the agent has told its models, what was chosen stands for itself. */}
                {!isOffered && props.loading && <option>{draft.model}</option>}
                <ModelOptions offers={offers} />
              </select>
              <AskAgain isAsking={props.loading} onAsk={props.onRefresh} />
            </div>
          )}
        </FormField>
        {isTyped && (
          <FormField label="Name of the model" problem={props.problem("model")}>
            {(wiring) => (
              <input
                {...wiring}
                className="input mono"
                autoComplete="off"
                spellCheck={false}
                value={draft.model}
                onChange={(event) => onChange({ model: event.target.value })}
              />
            )}
          </FormField>
        )}
      </div>
      <Variant {...props} isTyped={isTyped} variants={model?.variants ?? []} />
    </div>
  );
}

function ModelOptions({ offers }: { offers: Offers }) {
  return (
    <>
      <option value="">{defaultWord(nameOf(offers, offers.defaultModel))}</option>
      {offers.models.map(({ id, name }) => (
        <option key={id} value={id}>
          {name ?? id}
        </option>
      ))}
      <option value={OTHER}>Another…</option>
    </>
  );
}

function AskAgain({ isAsking, onAsk }: { isAsking: boolean; onAsk: () => void }) {
  return (
    <button
      type="button"
      className="button quiet small"
      title="Ask the agent again"
      aria-label="Ask the agent again for its models"
      disabled={isAsking}
      onClick={onAsk}
    >
      <Icon name="refresh" />
    </button>
  );
}

function Variant(props: ModelProps & { isTyped: boolean; variants: readonly string[] }) {
  const { draft, offers, variants } = props;
  const model = offers.models.find(({ id }) => id === (draft.model || offers.defaultModel));
  const isKnown = draft.variant === "" || variants.includes(draft.variant);
  if (!props.isTyped && variants.length === 0 && draft.variant === "") return null;
  const change = (variant: string) => props.onChange({ variant });
  return (
    <FormField label="Variant" problem={props.problem("variant")}>
      {(wiring) =>
        props.isTyped ? (
          <input
            {...wiring}
            className="input mono"
            autoComplete="off"
            value={draft.variant}
            onChange={(event) => change(event.target.value)}
          />
        ) : (
          <select
            {...wiring}
            className="input"
            value={draft.variant}
            onChange={(event) => change(event.target.value)}
          >
            <option value="">{defaultWord(model?.defaultVariant)}</option>
            {!isKnown && <option>{draft.variant}</option>}
            {variants.map((variant) => (
              <option key={variant}>{variant}</option>
            ))}
          </select>
        )
      }
    </FormField>
  );
}

function nameOf(offers: Offers, id: string | null): string | null {
  return offers.models.find((model) => model.id === id)?.name ?? id;
}

function defaultWord(what: string | null | undefined): string {
  if (!what) return "The agent's choice";
  return /default/i.test(what) ? what : `Default: ${what}`;
}
