"""Settings that contradict each other, or the document tree, are refused before any work is done with them."""

from spectral_spark.data.settings import AUTO, IBP
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.ibp.solve_features import IbpSettings
from spectral_spark.solve.printed import PRINTED
from spectral_spark.tree.nodes import DocumentTree


def check_together(settings: FitSettings) -> None:
    """Refuse settings that no corpus can be fitted with together."""
    for check in (_check_basis, _check_concentrations, _check_printed, _check_groups, _check_idle):
        check(settings)


def check_features(settings: IbpSettings) -> None:
    """Refuse settings that no rows can be fitted with together."""
    k, p, binary = settings.k, settings.basis_size, settings.kind == "binary"
    if k != AUTO and p != AUTO and int(k) > int(p):
        raise SettingsError(
            f"`k` is {k}, but moments are kept in {p} directions; raise `basisSize` to at least {k}, or leave it out"
        )
    if not binary and settings.offset != AUTO:
        raise SettingsError(f"`offset={settings.offset}` is for binary features, and {settings.kind} always has an "
                            "offset, the mean; leave it out")
    if settings.probabilities == "mean" and not (binary and settings.offset != "free"):
        why = "binary features" if not binary else "features without an offset"
        raise SettingsError(f"`probabilitiesFrom=mean` is for {why}; leave it out")
    if settings.noise_variance is not None and settings.noise_rule != IBP.default("noiseRule"):
        raise SettingsError(f"`noiseVariance` gives the variance that `noiseRule={settings.noise_rule}` would "
                            "estimate; leave out one of the two")


def check_tree(settings: FitSettings, tree: DocumentTree) -> None:
    """Refuse settings that the tree of the documents has no place for; it is known after the census."""
    check_levels(settings, tree.depth)
    if settings.tensors == "groups" and tree.depth == 0:
        raise SettingsError('`tensors="groups"` takes a tensor for every group, and these documents have no groups; '
                            "name them in the documents' paths, or leave out `tensors`")


def check_levels(settings: FitSettings, depth: int) -> None:
    """Refuse given concentrations whose number does not fit the levels of groups."""
    given = len(settings.given_concentrations)
    if given > 1 and given != depth + 1:
        raise SettingsError(
            f"`concentrations` has {given} numbers, but the tree has {depth + 2} layers; give {depth + 1}, one per "
            "layer below the root, or one for the documents alone"
        )


def _check_basis(settings: FitSettings) -> None:
    k, p = settings.k, settings.basis_size
    if k != AUTO and p != AUTO and int(k) > int(p):
        raise SettingsError(
            f"`k` is {k} but the basis has {p} columns; raise `basisSize` to at least {k}, or leave it out"
        )
    if settings.count_cap % 1:
        raise SettingsError(f"`countCap` is {settings.count_cap:g}; words are counted in whole numbers: give one, or 0 "
                            "for no cap")


def _check_concentrations(settings: FitSettings) -> None:
    given, layers = settings.given_concentrations, settings.tree_layers
    if layers is not None and len(given) not in (0, 1, layers - 1):
        raise SettingsError(
            f"`concentrations` has {len(given)} numbers for {layers} layers; give {layers - 1}, one per layer below "
            "the root" + (", or one for the documents alone" if layers > 2 else "")
        )
    if settings.concentrations == "calibrated" and layers != 2 and settings.tensors == "groups":
        raise SettingsError('`concentrations="calibrated"` needs the moments of the whole corpus; use `tensors="root"`')


def _check_printed(settings: FitSettings) -> None:
    """What is printed in the paper has three solvers and one tensor, and the preset is what is printed."""
    if settings.preset == "paper" and not settings.printed:
        raise SettingsError("`preset=paper` is the spectral step as the paper prints it; leave out `spectralStep`, or "
                            "the preset")
    if settings.preset == "paper" and settings.tensors == "groups":
        raise SettingsError('`preset=paper` decomposes the tensor of the root; leave out `tensors="groups"`, or the '
                            "preset")
    if settings.printed and settings.solver not in PRINTED:
        step = "preset=paper" if settings.preset else "spectralStep=printed"
        raise SettingsError(f"`solver={settings.solver}` is not in the paper, and `{step}` follows it to the letter; "
                            f"use one of {', '.join(PRINTED)}")


def _check_groups(settings: FitSettings) -> None:
    if settings.tensors != "groups":
        return
    if settings.solver == "implicit":
        raise SettingsError('`tensors="groups"` needs the third moment of every group, which `solver=implicit` '
                            "does not collect; use another solver, or leave out `tensors`")
    if settings.layers == 2:
        raise SettingsError('`layers=2` ignores the groups, and `tensors="groups"` takes a tensor for each of them; '
                            "leave out one of the two")


def _check_idle(settings: FitSettings) -> None:
    """Settings that would do nothing, where that is certainly not what was meant."""
    if not settings.refines and settings.explore_sweeps not in (AUTO, 0):
        raise SettingsError(
            f"`refinePasses=0` leaves out sampling, too, and `exploreSweeps` asks for {settings.explore_sweeps} "
            "sweeps; give at least one pass, or leave out `exploreSweeps`"
        )
    if settings.node_sums == "keep" and settings.weighting == "tokens":
        raise SettingsError("`nodeSums=keep` keeps the sums of nodes for the weightings uniform and ess; with "
                            "`weighting=tokens` there are none, and updates need none: leave it out, or change "
                            "`weighting`")
