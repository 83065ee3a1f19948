"""Several lines in one picture, which grey keeps apart, and their legend."""

from odalib.inspection._figures import GREY, LINE, RESULT, points_across

__all__ = ["add_legend", "series_style"]

COLORS, DASHES = (LINE, RESULT, GREY), ("-", "--", "-.", ":")
# Letters of a line across a picture.
LETTERS_ACROSS = 60


def series_style(number):
    """Colour and dashes of a line, a dict; twelve differ from each other."""
    return {
        "color": COLORS[number % len(COLORS)],
        "linestyle": DASHES[number % len(DASHES)],
    }


def add_legend(axes, *handles_and_labels, **options):
    """Add a legend where it hides least, in smaller letters where axes are small."""
    normal = axes.xaxis.label.get_fontsize()
    # A letter is about half as wide as it is high.
    size = min(normal, points_across(axes)[0] / (0.5 * LETTERS_ACROSS))
    axes.legend(
        *handles_and_labels,
        fontsize=size,
        title_fontsize=size,
        markerscale=size / normal,
        **options,
    )
