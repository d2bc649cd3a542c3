package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// named are the objects by name that a pod template cannot do without.
type named struct{ configMaps, secrets, accounts, classes, runtimes map[string]bool }

// dependencies finds what the pods need at the destination and do not find there:
// an ordinal that is stopped first and cannot start then is an outage.
func dependencies(ctx context.Context, at endpoint.Endpoint, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	need := namedIn(source.Spec.Template.Spec)
	var findings []plan.Finding
	for _, kind := range []struct {
		kind  string
		names map[string]bool
		get   func(name string) error
	}{
		{"ConfigMap", need.configMaps, func(name string) error { return at.Live.Get(ctx, at.Key(name), &corev1.ConfigMap{}) }},
		{"Secret", need.secrets, func(name string) error { return at.Live.Get(ctx, at.Key(name), &corev1.Secret{}) }},
		{"ServiceAccount", need.accounts, func(name string) error { return at.Live.Get(ctx, at.Key(name), &corev1.ServiceAccount{}) }},
		{"PriorityClass", need.classes, func(name string) error {
			return at.Live.Get(ctx, client.ObjectKey{Name: name}, &schedulingv1.PriorityClass{})
		}},
		{"RuntimeClass", need.runtimes, func(name string) error {
			return at.Live.Get(ctx, client.ObjectKey{Name: name}, &nodev1.RuntimeClass{})
		}},
	} {
		for _, name := range slices.Sorted(maps.Keys(kind.names)) {
			finding, err := dependency(at, kind.kind, name, kind.get(name))
			if err != nil {
				return nil, err
			}
			if finding != nil {
				findings = append(findings, *finding)
			}
		}
	}
	return findings, nil
}

func dependency(at endpoint.Endpoint, kind, name string, err error) (*plan.Finding, error) {
	where := fmt.Sprintf("%s %s/%s in cluster %s", kind, at.Namespace, name, at.Cluster)
	switch {
	case err == nil:
		return nil, nil
	case apierrors.IsNotFound(err):
		return &plan.Finding{
			Reason: api.ReasonDependencyMissing, Object: where,
			Message: where + " does not exist, and the pod template names it: a moved ordinal would be stopped and not start again",
			Remedy:  "create it at the destination before the move",
		}, nil
	case apierrors.IsForbidden(err):
		return &plan.Finding{
			Reason: api.ReasonDependencyMissing, Object: where, Warning: true,
			Message: where + " is named by the pod template and may not be read, so see for yourself that it exists",
		}, nil
	}
	return nil, err
}

// namedIn walks a pod template. What it marks as optional is left out.
func namedIn(spec corev1.PodSpec) named {
	n := named{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	add := func(to map[string]bool, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			to[name] = true
		}
	}
	add(n.accounts, spec.ServiceAccountName, nil)
	add(n.classes, spec.PriorityClassName, nil)
	add(n.runtimes, ptr.Deref(spec.RuntimeClassName, ""), nil)
	for _, ref := range spec.ImagePullSecrets {
		add(n.secrets, ref.Name, nil)
	}
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil {
			add(n.configMaps, v.ConfigMap.Name, v.ConfigMap.Optional)
		}
		if v.Secret != nil {
			add(n.secrets, v.Secret.SecretName, v.Secret.Optional)
		}
		if v.Projected != nil {
			for _, from := range v.Projected.Sources {
				if from.ConfigMap != nil {
					add(n.configMaps, from.ConfigMap.Name, from.ConfigMap.Optional)
				}
				if from.Secret != nil {
					add(n.secrets, from.Secret.Name, from.Secret.Optional)
				}
			}
		}
	}
	for _, container := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				add(n.configMaps, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
			}
			if from.SecretRef != nil {
				add(n.secrets, from.SecretRef.Name, from.SecretRef.Optional)
			}
		}
		for _, env := range container.Env {
			if env.ValueFrom == nil {
				continue
			}
			if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
				add(n.configMaps, ref.Name, ref.Optional)
			}
			if ref := env.ValueFrom.SecretKeyRef; ref != nil {
				add(n.secrets, ref.Name, ref.Optional)
			}
		}
	}
	return n
}
