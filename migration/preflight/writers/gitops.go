package writers

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// tool is a GitOps tool that continuously applies its repository.
type tool struct {
	// mark is the label or annotation that identifies its objects.
	mark string
	// leaves is the annotation, with its value, that excludes an object from its writes; empty if no annotation is
	// enough.
	leaves, value string
	// together returns how both can coexist, or how to suspend the tool, for an object with this mark. fields are the JSON
	// pointers of the fields that are written meanwhile.
	together func(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string, fields ...string) string
}

// tools are checked in this order; the first mark found is reported.
var tools = []tool{
	{mark: "argocd.argoproj.io/tracking-id", together: argo},
	{mark: "argocd.argoproj.io/instance", together: argo},
	{mark: "kustomize.toolkit.fluxcd.io/name", leaves: "kustomize.toolkit.fluxcd.io/reconcile", value: "disabled", together: kustomization},
	{mark: "helm.toolkit.fluxcd.io/name", together: helmRelease},
}

// GitOps warns of a tool that may revert replicas and ordinals.
func GitOps(at endpoint.Endpoint, set *appsv1.StatefulSet) []plan.Finding {
	tool, mark := tracked(set)
	if tool == nil {
		return helm(at, set)
	}
	return []plan.Finding{{
		Reason: api.ReasonTrackedByGitOps, Object: at.Object(), Warning: true,
		Message: fmt.Sprintf("%s is tracked by %s=%s: a tool that writes replicas or ordinals back stalls the move, and the copy at the destination does not carry the mark", at.Object(), tool.mark, mark),
		Remedy:  tool.together(at, set, mark, "/spec/replicas", "/spec/ordinals"),
	}}
}

// Templates warns of the place that has the claim templates of a StatefulSet, if it is not the cluster: a tool, or a Helm
// release, applies the former ones again.
func Templates(at endpoint.Endpoint, set *appsv1.StatefulSet) []plan.Finding {
	tool, mark := tracked(set)
	switch release := set.Annotations[releaseName]; {
	case tool != nil && at.Kind().UpdatesTemplates():
		return []plan.Finding{{
			Reason: api.ReasonTrackedByGitOps, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is tracked by %s=%s, which has the former claim templates: its next sync writes them back", at.Object(), tool.mark, mark),
			Remedy:  "write the new claim templates into its repository first, and let the migration only replace the claims, by method=copy without a class or a size; or until then " + tool.together(at, set, mark, "/spec/volumeClaimTemplates"),
		}}
	case tool != nil:
		return []plan.Finding{{
			Reason: api.ReasonTrackedByGitOps, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is tracked by %s=%s, which has the former claim templates: its next sync fails, or recreates the set with them", at.Object(), tool.mark, mark),
			Remedy:  "write the new claim templates into its repository as soon as the set is recreated, and until then " + tool.together(at, set, mark, "/spec/volumeClaimTemplates"),
		}}
	case release != "":
		return []plan.Finding{{
			Reason: api.ReasonHelmReleaseStays, Object: at.Object(), Warning: true,
			Message: fmt.Sprintf("%s is part of Helm release %s, which has the former claim templates: its next upgrade fails", at.Object(), release),
			Remedy:  "leave the release alone until the end, and then upgrade it with the new claim templates in its values: " + shell.Command("helm", "get", "values", release, "-n", at.Namespace),
		}}
	}
	return nil
}

// tracked returns the tool that applies a StatefulSet, and the value of its mark; nil if there is none.
func tracked(set *appsv1.StatefulSet) (*tool, string) {
	for i := range tools {
		mark := cmp.Or(set.Annotations[tools[i].mark], set.Labels[tools[i].mark])
		if mark != "" && (tools[i].leaves == "" || set.Annotations[tools[i].leaves] != tools[i].value) {
			return &tools[i], mark
		}
	}
	return nil, ""
}

// releaseName is the annotation with which Helm marks the objects of a release.
const releaseName = "meta.helm.sh/release-name"

// helm warns of a release that a user has installed. Helm does not write continuously, and does not know the
// destination.
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

// argo returns the remedy for an Argo CD Application. The tracking ID begins with its name, prefixed by its namespace
// if that is not Argo CD's own.
func argo(at endpoint.Endpoint, _ *appsv1.StatefulSet, mark string, fields ...string) string {
	app, _, _ := strings.Cut(mark, ":")
	namespace := "argocd"
	if own, name, found := strings.Cut(app, "_"); found {
		namespace, app = own, name
	}
	group, _, _ := strings.Cut(at.APIVersion, "/")
	return fmt.Sprintf("let Argo CD ignore what the move writes, with RespectIgnoreDifferences=true among spec.syncPolicy.syncOptions and this in spec.ignoreDifferences of Application %s: "+
		`{"group":%q,"kind":"StatefulSet","name":%q,"jsonPointers":["%s"]}`+
		"; or pause it, in the cluster that has the Application: %s",
		app, group, at.Set, strings.Join(fields, `","`), shell.Kubectl{}.Do("annotate", "application.argoproj.io", "-n", namespace, app, "argocd.argoproj.io/skip-reconcile=true"))
}

// kustomization returns the remedy for a Flux Kustomization.
func kustomization(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string, _ ...string) string {
	return fmt.Sprintf("let Flux leave this object alone: %s; or suspend all of it: %s", at.Kubectl().Do("annotate", at.Resource(), "-n", at.Namespace, at.Set, "kustomize.toolkit.fluxcd.io/reconcile=disabled"), suspend(at, "kustomization.kustomize.toolkit.fluxcd.io", cmp.Or(set.Labels["kustomize.toolkit.fluxcd.io/namespace"], at.Namespace), mark))
}

// helmRelease returns the remedy for a Flux HelmRelease. Settings that prevent drift correction do not prevent an
// upgrade.
func helmRelease(at endpoint.Endpoint, set *appsv1.StatefulSet, mark string, _ ...string) string {
	return "suspend the release: " + suspend(at, "helmrelease.helm.toolkit.fluxcd.io", cmp.Or(set.Labels["helm.toolkit.fluxcd.io/namespace"], at.Namespace), mark)
}

func suspend(at endpoint.Endpoint, resource, namespace, name string) string {
	return at.Kubectl().Do("patch", resource, "-n", namespace, name, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
}
