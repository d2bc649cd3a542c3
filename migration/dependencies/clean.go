package dependencies

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Place is the namespace and the set of one side of a migration.
type Place struct{ Namespace, Set string }

// Way is the origin and the target of a copy.
type Way struct {
	From, To Place
	// Account is the ServiceAccount of the pods.
	Account string
}

// Home returns the way of an object that remains at the target.
func (w Way) Home() Way { return Way{From: w.To, To: w.To, Account: w.Account} }

// Trackers are the labels and annotations by which GitOps tools track their objects.
var Trackers = []string{
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name",
}

// Annotations and labels that belong to one object, one cluster, or this project.
const (
	ours = "migration.sliceshift.io/"
	// ExternalNames begins the annotations with names in a DNS zone outside of the clusters, for which two objects would
	// compete.
	ExternalNames = "external-dns.alpha.kubernetes.io/"
)

// Clean returns the copy of an object for the other side. It leaves out all fields that belong to one object or
// one cluster. These are its identity, owners and trackers, addresses and ports that a cluster assigns, and
// tokens that it signs. It also leaves out fields that expose a Service externally, because the same address
// may be in use there. The object at the other side is cleaned in the same way before the two are compared.
func Clean(object *unstructured.Unstructured, way Way) *unstructured.Unstructured {
	copied := object.DeepCopy()
	delete(copied.Object, "status")
	metadata := map[string]any{"name": object.GetName()}
	if object.GetNamespace() != "" {
		metadata["namespace"] = way.To.Namespace
	}
	copied.Object["metadata"] = metadata
	copied.SetLabels(kept(object.GetLabels(), ""))
	copied.SetAnnotations(kept(object.GetAnnotations(), corev1.LastAppliedConfigAnnotation))
	switch object.GetKind() {
	case Secret:
		cleanSecret(copied)
	case ServiceAccount:
		cleanAccount(copied)
	case RoleBinding:
		cleanBinding(copied, way)
	case Service:
		cleanService(copied, way)
	case PersistentVolume:
		cleanVolume(copied, way)
	case PersistentVolumeClaim:
		cleanClaim(copied)
	}
	return copied
}

func kept(from map[string]string, besides string) map[string]string {
	to := maps.Clone(from)
	maps.DeleteFunc(to, func(key, _ string) bool {
		return key == besides || slices.Contains(Trackers, key) || strings.HasPrefix(key, ours) || strings.HasPrefix(key, ExternalNames)
	})
	if len(to) == 0 {
		return nil
	}
	return to
}

// cleanSecret removes a ServiceAccount's token, because the other cluster signs its own (kubernetes
// pkg/controller/serviceaccount/tokens_controller.go, generateTokenIfNeeded).
func cleanSecret(copied *unstructured.Unstructured) {
	if text(copied.Object, "type") != string(corev1.SecretTypeServiceAccountToken) {
		return
	}
	for _, key := range []string{corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey, corev1.ServiceAccountNamespaceKey} {
		unstructured.RemoveNestedField(copied.Object, "data", key)
	}
	if len(object(copied.Object, "data")) == 0 {
		delete(copied.Object, "data")
	}
	annotations := copied.GetAnnotations()
	delete(annotations, corev1.ServiceAccountUIDKey)
	copied.SetAnnotations(annotations)
}

func cleanAccount(copied *unstructured.Unstructured) {
	delete(copied.Object, "secrets")
	var pull []any
	for _, secret := range items(copied.Object, "imagePullSecrets") {
		if !generated(copied.GetName(), text(secret, "name")) {
			pull = append(pull, secret)
		}
	}
	delete(copied.Object, "imagePullSecrets")
	if len(pull) > 0 {
		copied.Object["imagePullSecrets"] = pull
	}
}

// cleanBinding keeps only the ServiceAccount of the pods as a subject. The move gives no rights to any other
// subject, and ignores subjects that have rights at the other side.
func cleanBinding(copied *unstructured.Unstructured, way Way) {
	subjects := items(copied.Object, "subjects")
	delete(copied.Object, "subjects")
	if slices.ContainsFunc(subjects, func(subject map[string]any) bool {
		return reached(subject, way.From.Namespace, way.From.Namespace, way.Account)
	}) {
		copied.Object["subjects"] = []any{map[string]any{"kind": rbacv1.ServiceAccountKind, "name": way.Account, "namespace": way.To.Namespace}}
	}
}

// assigned are the fields of a Service that a cluster assigns, or that expose it externally.
var assigned = []string{
	"type", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "externalIPs", "externalName", "externalTrafficPolicy", "healthCheckNodePort",
	"loadBalancerIP", "loadBalancerClass", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts",
}

func cleanService(copied *unstructured.Unstructured, way Way) {
	spec := object(copied.Object, "spec")
	for _, field := range assigned {
		delete(spec, field)
	}
	if spec["clusterIP"] != corev1.ClusterIPNone {
		delete(spec, "clusterIP")
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, is := port.(map[string]any); is {
			delete(fields, "nodePort")
		}
	}
	if selector := object(spec, "selector"); selector != nil {
		name, _ := selector[appsv1.StatefulSetPodNameLabel].(string)
		if ofSet(name, way.From.Set) {
			selector[appsv1.StatefulSetPodNameLabel] = way.To.Set + strings.TrimPrefix(name, way.From.Set)
		}
	}
}

// bookkeeping are the annotations by which the controllers of one cluster track claims and volumes.
var bookkeeping = []string{
	"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to",
	"volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-resizer",
}

func withoutBookkeeping(copied *unstructured.Unstructured) {
	annotations := copied.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(bookkeeping, key) })
	copied.SetAnnotations(annotations)
}

// cleanVolume makes a second volume for the same storage. Its policy Retain prevents a deletion of the storage
// through it, and it is reserved for the claim of the other side. A claimRef with the UID of another cluster
// would make it Released.
func cleanVolume(copied *unstructured.Unstructured, way Way) {
	withoutBookkeeping(copied)
	spec := object(copied.Object, "spec")
	if spec == nil {
		return
	}
	spec["persistentVolumeReclaimPolicy"] = string(corev1.PersistentVolumeReclaimRetain)
	ref := object(spec, "claimRef")
	if ref == nil {
		return
	}
	namespace := text(ref, "namespace")
	if namespace == way.From.Namespace {
		namespace = way.To.Namespace
	}
	spec["claimRef"] = map[string]any{"apiVersion": "v1", "kind": PersistentVolumeClaim, "namespace": namespace, "name": text(ref, "name")}
}

// cleanClaim makes the claim of that volume. It has no data source, because the volume has the data. A claim
// without a class would get the default class of the other cluster, and would then not be bound.
func cleanClaim(copied *unstructured.Unstructured) {
	withoutBookkeeping(copied)
	spec := object(copied.Object, "spec")
	if spec == nil {
		return
	}
	delete(spec, "dataSource")
	delete(spec, "dataSourceRef")
	if _, has := spec["storageClassName"]; !has {
		spec["storageClassName"] = ""
	}
}

// object returns a tree in a tree, without copying it; nil if there is none.
func object(tree map[string]any, field string) map[string]any {
	value, _ := tree[field].(map[string]any)
	return value
}
