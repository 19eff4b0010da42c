"""Search for good settings with Optuna (pip install optuna).

    python examples/search.py novel.txt --trials 20 train.max_minutes=2

Further settings hold for all trainings. The same command again adds to the study in search.db.
"""

import argparse

import optuna

import seqkit
from seqkit import events


def main() -> None:
    """Train with the settings that Optuna tries, and print the best ones."""
    parser = argparse.ArgumentParser(description="Search for good settings with Optuna.")
    parser.add_argument("text", help="a text file, or a folder of them")
    parser.add_argument("settings", nargs="*", help="key=value, such as train.max_minutes=2")
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_intermixed_args()

    def loss(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("optimizer.lr", 1e-4, 1e-1, log=True)
        layers = trial.suggest_int("model.num_layers", 1, 3)

        def watch(event: events.Event) -> None:
            if isinstance(event, events.Validated):
                trial.report(event.loss, event.step)
                if trial.should_prune():  # worse than the median of the others at this step
                    raise optuna.TrialPruned

        words = [f"optimizer.lr={rate}", f"model.num_layers={layers}", *given.settings]
        run = seqkit.train("shakespeare", *words, data=given.text, on_event=watch)
        return float(run.summary["best_validation_loss"])

    study = optuna.create_study(
        storage="sqlite:///search.db", study_name="seqkit", load_if_exists=True
    )
    study.optimize(loss, n_trials=given.trials, catch=(seqkit.SeqkitError,))
    print(f"{study.best_value:.4f} nats per character with {study.best_params}")


if __name__ == "__main__":
    main()
