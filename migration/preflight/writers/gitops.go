package writers

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// tool is a GitOps tool that writes again and again what its repository says.
type tool struct {
	// mark is the label or annotation by which it knows its objects.
	mark string
	// leaves is the annotation, and its value, of an object that it no longer writes; empty: it has
	// none that is enough.
	leaves, value string
	// together says how both live together, or how it is suspended, for an object marked like this.
	together func(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string) string
}

// tools are asked in this order: the first mark is the one that is told.
var tools = []tool{
	{mark: "argocd.argoproj.io/tracking-id", together: argo},
	{mark: "argocd.argoproj.io/instance", together: argo},
	{mark: "kustomize.toolkit.fluxcd.io/name", leaves: "kustomize.toolkit.fluxcd.io/reconcile", value: "disabled", together: kustomization},
	{mark: "helm.toolkit.fluxcd.io/name", together: helmRelease},
}

// GitOps warns of a tool that may write replicas and ordinals back.
func GitOps(at endpoint.Endpoint, set *appsv1.StatefulSet) []plan.Finding {
	for _, tool := range tools {
		mark := cmp.Or(set.Annotations[tool.mark], set.Labels[tool.mark])
		if mark == "" || tool.leaves != "" && set.Annotations[tool.leaves] == tool.value {
			continue
		}
		return []plan.Finding{{
			Reason: api.ReasonTrackedByGitOps, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is tracked by %s=%s: a tool that writes replicas or ordinals back stalls the move, and the copy at the destination does not carry the mark", at.Object(), tool.mark, mark),
			Remedy:  tool.together(at, set, mark),
		}}
	}
	return helm(at, set)
}

// releaseName is the annotation by which Helm knows the objects of a release.
const releaseName = "meta.helm.sh/release-name"

// helm warns of a release that a person has installed: Helm writes nothing again, and knows nothing of the destination.
func helm(at endpoint.Endpoint, set *appsv1.StatefulSet) []plan.Finding {
	release := set.Annotations[releaseName]
	if release == "" {
		return nil
	}
	return []plan.Finding{{
		Reason: api.ReasonHelmReleaseStays, Object: at.Object(), Warning: true,
		Message: fmt.Sprintf("%s is part of Helm release %s, which does not move: an upgrade of it during the move stalls that, and at the destination Helm knows nothing of it", at.Object(), release),
		Remedy: fmt.Sprintf("leave the release alone until the end; then, at the destination: %s (before Helm 4 without --force-conflicts)",
			shell.Command("helm", "upgrade", "--install", release, "CHART", "--take-ownership", "--force-conflicts")),
	}}
}

// argo is for an Application of Argo CD. Its name begins the tracking ID, after the namespace of one that
// is not with Argo CD itself.
func argo(at endpoint.Endpoint, _ *appsv1.StatefulSet, mark string) string {
	app, _, _ := strings.Cut(mark, ":")
	namespace := "argocd"
	if own, name, found := strings.Cut(app, "_"); found {
		namespace, app = own, name
	}
	group, _, _ := strings.Cut(at.APIVersion, "/")
	return fmt.Sprintf("let Argo CD ignore what the move writes, with RespectIgnoreDifferences=true among spec.syncPolicy.syncOptions and this in spec.ignoreDifferences of Application %s: "+
		`{"group":%q,"kind":"StatefulSet","name":%q,"jsonPointers":["/spec/replicas","/spec/ordinals"]}`+
		"; or pause it, in the cluster that has the Application: %s",
		app, group, at.Set, shell.Kubectl{}.Do("annotate", "application.argoproj.io", "-n", namespace, app, "argocd.argoproj.io/skip-reconcile=true"))
}

// kustomization is for a Kustomization of Flux.
func kustomization(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string) string {
	return fmt.Sprintf("let Flux leave this object alone: %s; or suspend all of it: %s", at.Kubectl().Do("annotate", at.Resource(), "-n", at.Namespace, at.Set, "kustomize.toolkit.fluxcd.io/reconcile=disabled"), suspend(at, "kustomization.kustomize.toolkit.fluxcd.io", cmp.Or(set.Labels["kustomize.toolkit.fluxcd.io/namespace"], at.Namespace), mark))
}

// helmRelease is for a HelmRelease of Flux: what keeps it from correcting a drift does not keep it from
// an upgrade.
func helmRelease(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string) string {
	return "suspend the release: " + suspend(at, "helmrelease.helm.toolkit.fluxcd.io", cmp.Or(set.Labels["helm.toolkit.fluxcd.io/namespace"], at.Namespace), mark)
}

func suspend(at endpoint.Endpoint, resource, namespace, name string) string {
	return at.Kubectl().Do("patch", resource, "-n", namespace, name, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
}
