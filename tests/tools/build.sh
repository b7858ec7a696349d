#!/usr/bin/env bash
# Builds the real servers and tools that the slow suites meet (kube-apiserver, etcd, kustomize, helm, Flux, Argo CD)
# into a cache folder outside the repository, keyed by the hash of each module's go.mod, and prints that folder.
# A warm run builds nothing. Needs Go 1.26; nothing here is needed for the product or for `cargo test`.
#
#   tests/tools/build.sh [MODULE ...]      modules: render kubernetes flux argo (default: all)
#
# GITOPS_TUI_TOOLS     the cache folder (default: $XDG_CACHE_HOME or ~/.cache, then gitops-tui-tools)
# KUBEBUILDER_ASSETS   a folder that already holds kube-apiserver, etcd and kubectl: those three are linked, not built
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${GITOPS_TUI_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/gitops-tui-tools}
bin=$cache/bin
mkdir -p "$bin"
modules=("$@")
[ ${#modules[@]} -gt 0 ] || modules=(render kubernetes flux argo)

key_of() { cat "$here/$1/go.mod" "$here/$1/go.sum" | sha256sum | cut -c1-12; }

say() { printf '%s\n' "$*" >&2; }

version_flags() {
  local p=k8s.io/component-base/version
  printf -- '-X %s.gitVersion=v1.37.2 -X %s.gitMajor=1 -X %s.gitMinor=37' "$p" "$p" "$p"
}

# crds MODULE FOLDER GO_MODULE SUBFOLDER: copies the custom resource definitions that belong to a pinned module
crds() {
  local dir out
  out=$cache/$1-$(key_of "$1")/crds-$2
  if [ ! -d "$out" ]; then
    dir=$(cd "$here/$1" && go list -m -f '{{.Dir}}' "$3")
    mkdir -p "$out.part"
    cp "$dir/$4"/*.yaml "$out.part/"
    chmod u+w "$out.part"/*.yaml
    rm -f "$out.part/kustomization.yaml"
    mv "$out.part" "$out"
  fi
  mkdir -p "$cache/crds"
  ln -sfn "$out" "$cache/crds/$2"
}

# build MODULE NAME PACKAGE [EXTRA LDFLAGS]
build() {
  local module=$1 name=$2 package=$3 extra=${4:-}
  local key out start
  key=$(key_of "$module")
  out=$cache/$module-$key/$name
  if [ ! -x "$out" ]; then
    command -v go >/dev/null || { say "Go 1.26 is missing: install it to build $name"; exit 3; }
    start=$SECONDS
    mkdir -p "${out%/*}"
    (cd "$here/$module" && go build -trimpath -ldflags "-s -w $extra" -o "$out.part" "$package")
    mv "$out.part" "$out"
    say "built $name in $((SECONDS - start)) s"
  fi
  ln -sfn "$out" "$bin/$name"
}

for module in "${modules[@]}"; do
  case $module in
    render)
      build render kustomize sigs.k8s.io/kustomize/kustomize/v5
      build render helm helm.sh/helm/v3/cmd/helm ;;
    kubernetes)
      if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/kube-apiserver" ]; then
        for name in kube-apiserver etcd kubectl; do ln -sfn "$KUBEBUILDER_ASSETS/$name" "$bin/$name"; done
      else
        build kubernetes kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$(version_flags)"
        build kubernetes kubectl k8s.io/kubernetes/cmd/kubectl "$(version_flags)"
        build kubernetes etcd go.etcd.io/etcd/server/v3
      fi
      build kubernetes kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager "$(version_flags)" ;;
    flux)
      build flux source-controller github.com/fluxcd/source-controller
      build flux kustomize-controller github.com/fluxcd/kustomize-controller
      crds flux source-controller github.com/fluxcd/source-controller config/crd/bases
      crds flux kustomize-controller github.com/fluxcd/kustomize-controller config/crd/bases ;;
    argo)
      build argo argocd github.com/argoproj/argo-cd/v3/cmd
      for name in argocd-repo-server argocd-application-controller argocd-cmp-server; do ln -sfn "$(readlink "$bin/argocd")" "$bin/$name"; done
      crds argo argocd github.com/argoproj/argo-cd/v3 manifests/crds ;;
    *) say "no module named $module: render, kubernetes, flux, argo"; exit 2 ;;
  esac
done
printf '%s\n' "$bin"
