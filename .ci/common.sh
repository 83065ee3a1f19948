# Shared by run and nightly; sourced, not run.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
exec </dev/null

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# step TITLE: announces what comes, with the seconds since the start.
step() {
    printf '\n== %s (%d s)\n' "$1" "$SECONDS"
}

# copy_of_the_tree: leaves in $scratch/tree what a fresh clone would hold, so that
# neither an existing environment nor old build products can help or hurt.
copy_of_the_tree() {
    mkdir "$scratch/tree"
    tar -C "$root" --create --exclude=./.git --exclude=./.venv --exclude=./build \
        --exclude=./dist --exclude='*.egg-info' --exclude=__pycache__ \
        --exclude=./docs/_build --exclude=./docs/api/generated \
        --exclude=./docs/auto_examples \
        --exclude='./odalib/kernels/_*.so' --exclude='./odalib/kernels/_*.c' \
        --exclude='./.*_cache' . | tar -C "$scratch/tree" --extract
}

# readme_command NAME: prints the fenced block below the comment
# "<!-- command: NAME -->" in README.md.
readme_command() {
    awk -v mark="<!-- command: $1 -->" '
        $0 == mark { marked = 1; next }
        marked && /^```/ { if (inside) exit; inside = 1; next }
        inside { print }
    ' README.md
}

# run_readme_command NAME SECONDS: runs that block, at most so long.
run_readme_command() {
    local text
    text="$(readme_command "$1")"
    [[ -n "$text" ]] || { echo "README.md has no command '$1'" >&2; exit 1; }
    printf '$ %s\n' "$text"
    timeout "$2" bash -euo pipefail -c "$text"
}
