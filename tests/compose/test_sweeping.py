"""What a sweep's command line stands for."""

from seqkit import compose


def test_every_combination_is_a_run_and_so_is_each_path() -> None:
    words = ["recipe=shakespeare", "model.num_layers=range(1,3)", "seed=choice(5,7)"]
    lines = compose.sweep([*words, "data.path=a,b.txt", "data.path=c"])
    assert len(lines) == 8
    assert ["recipe=shakespeare", "model.num_layers=2", "seed=5", "data.path=a,b.txt"] in lines
    assert ["recipe=shakespeare", "model.num_layers=1", "seed=7", "data.path=c"] in lines
