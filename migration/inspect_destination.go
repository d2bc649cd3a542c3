package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// named are the objects by name that a pod template cannot do without.
type named struct{ configMaps, secrets, accounts, classes map[string]bool }

// dependencies finds what the pods need at the destination and do not find there:
// an ordinal that is stopped first and cannot start then is an outage.
func dependencies(ctx context.Context, at place, source *appsv1.StatefulSet) ([]Finding, error) {
	need := namedIn(source.Spec.Template.Spec)
	var findings []Finding
	for _, kind := range []struct {
		kind  string
		names map[string]bool
		get   func(name string) error
	}{
		{"ConfigMap", need.configMaps, func(name string) error { return at.live.Get(ctx, at.key(name), &corev1.ConfigMap{}) }},
		{"Secret", need.secrets, func(name string) error { return at.live.Get(ctx, at.key(name), &corev1.Secret{}) }},
		{"ServiceAccount", need.accounts, func(name string) error { return at.live.Get(ctx, at.key(name), &corev1.ServiceAccount{}) }},
		{"PriorityClass", need.classes, func(name string) error {
			return at.live.Get(ctx, client.ObjectKey{Name: name}, &schedulingv1.PriorityClass{})
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

func dependency(at place, kind, name string, err error) (*Finding, error) {
	where := fmt.Sprintf("%s %s/%s in cluster %s", kind, at.namespace, name, at.cluster)
	switch {
	case err == nil:
		return nil, nil
	case apierrors.IsNotFound(err):
		return &Finding{
			Reason: api.ReasonDependencyMissing, Object: where,
			Message: where + " does not exist, and the pod template names it: a moved ordinal would be stopped and not start again",
			Remedy:  "create it at the destination before the move",
		}, nil
	case apierrors.IsForbidden(err):
		return &Finding{
			Reason: api.ReasonDependencyMissing, Object: where, Warning: true,
			Message: where + " is named by the pod template and may not be read, so see for yourself that it exists",
		}, nil
	}
	return nil, err
}

// namedIn walks a pod template. What it marks as optional is left out.
func namedIn(spec corev1.PodSpec) named {
	n := named{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	add := func(to map[string]bool, name string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			to[name] = true
		}
	}
	add(n.accounts, spec.ServiceAccountName, nil)
	add(n.classes, spec.PriorityClassName, nil)
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

// reachableVolumes finds volumes that no node of the destination can mount: their
// driver is not registered there, or their node affinity matches no node. It warns
// of those that are a path on one machine.
func (e *Engine) reachableVolumes(ctx context.Context, source *appsv1.StatefulSet) ([]Finding, error) {
	if e.sameCluster() || len(source.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	pvs, err := e.claimed(ctx, source)
	if err != nil {
		return nil, err
	}
	drivers := map[string]bool{}
	var local string
	var bound []corev1.PersistentVolume
	for _, pv := range pvs {
		if pv.Spec.CSI != nil {
			drivers[pv.Spec.CSI.Driver] = true
		}
		if (pv.Spec.HostPath != nil || pv.Spec.Local != nil) && local == "" {
			local = pv.Name
		}
		if pv.Spec.NodeAffinity != nil {
			bound = append(bound, pv)
		}
	}
	findings, err := e.drivers(ctx, slices.Sorted(maps.Keys(drivers)))
	if err != nil {
		return nil, err
	}
	more, err := e.affinities(ctx, bound)
	if local != "" {
		findings = append(findings, Finding{
			Reason: volumes.ReasonVolumeIsLocal, Object: "volume " + local, Warning: true,
			Message: fmt.Sprintf("volume %s in cluster %s is a path on a machine: the destination's nodes must see the same path", local, e.source.cluster),
		})
	}
	return append(findings, more...), err
}

// claimed are the volumes of the set's claims.
func (e *Engine) claimed(ctx context.Context, source *appsv1.StatefulSet) ([]corev1.PersistentVolume, error) {
	var all corev1.PersistentVolumeList
	if err := e.source.live.List(ctx, &all); err != nil {
		return nil, err
	}
	templates := claimTemplates(source)
	return slices.DeleteFunc(all.Items, func(pv corev1.PersistentVolume) bool {
		ref := pv.Spec.ClaimRef
		return ref == nil || ref.Namespace != e.source.namespace || !slices.ContainsFunc(templates, func(template string) bool {
			return strings.HasPrefix(ref.Name, template+"-"+source.Name+"-")
		})
	}), nil
}

// drivers finds CSI drivers that the destination's cluster does not have.
func (e *Engine) drivers(ctx context.Context, names []string) ([]Finding, error) {
	var findings []Finding
	for _, name := range names {
		err := e.destination.live.Get(ctx, client.ObjectKey{Name: name}, &storagev1.CSIDriver{})
		if err == nil || apierrors.IsForbidden(err) {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return nil, err
		}
		findings = append(findings, Finding{
			Reason: volumes.ReasonDriverMissing, Object: "CSIDriver " + name,
			Message: fmt.Sprintf("the volumes are of CSI driver %s, and cluster %s has no such driver: a moved pod could not mount its volume", name, e.destination.cluster),
			Remedy:  "install the driver there, for the same storage",
		})
	}
	return findings, nil
}

// affinities finds a volume whose node affinity matches no node of the destination
// (velero#5162: the pod stays Pending).
func (e *Engine) affinities(ctx context.Context, pvs []corev1.PersistentVolume) ([]Finding, error) {
	if len(pvs) == 0 {
		return nil, nil
	}
	var nodes corev1.NodeList
	if err := e.destination.live.List(ctx, &nodes); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		return nil, err
	}
	for i := range pvs {
		fits := func(node corev1.Node) bool { return volume.CheckNodeAffinity(&pvs[i], node.Labels) == nil }
		if slices.ContainsFunc(nodes.Items, fits) {
			continue
		}
		return []Finding{{
			Reason: volumes.ReasonVolumeOutOfReach, Object: "volume " + pvs[i].Name,
			Message: fmt.Sprintf("the node affinity of volume %s matches no node of cluster %s: a moved pod would stay Pending", pvs[i].Name, e.destination.cluster),
			Remedy:  "label nodes that reach the storage as the affinity asks: kubectl get pv " + pvs[i].Name + " -o jsonpath='{.spec.nodeAffinity}'",
		}}, nil
	}
	return nil, nil
}
