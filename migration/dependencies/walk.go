package dependencies

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultAccount is the ServiceAccount of pods that name none.
const DefaultAccount = "default"

// AccountOf returns the name of the ServiceAccount that pods run as.
func AccountOf(spec corev1.PodSpec) string { return cmp.Or(spec.ServiceAccountName, DefaultAccount) }

// walker collects one reference for each object. It is optional if all references to the object are.
type walker map[[3]string]Reference

func (w walker) add(next Reference) {
	if next.Name == "" || next.Kind == ConfigMap && slices.Contains(published, next.Name) {
		return
	}
	key := [3]string{next.Kind, next.Namespace, next.Name}
	if before, found := w[key]; !found || before.Optional && !next.Optional {
		w[key] = next
	}
}

// published are the ConfigMaps that each cluster creates in every namespace (kubernetes
// pkg/controller/certificates/rootcacertpublisher; OpenShift service-ca).
var published = []string{"kube-root-ca.crt", "openshift-service-ca.crt"}

// list returns the references in the order in which copies are created.
func (w walker) list() []Reference {
	all := make([]Reference, 0, len(w))
	for _, ref := range w {
		all = append(all, ref)
	}
	slices.SortFunc(all, compareReferences)
	return all
}

func compareReferences(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
}

// Walk returns all objects that a pod template names, in the order in which copies are created. It leaves out
// volumes with the name of a claim template, which the StatefulSet replaces by its own claims, and claims that
// all pods share (see SharedClaims).
func Walk(spec corev1.PodSpec, claimTemplates []string) []Reference {
	return slices.DeleteFunc(named(spec, claimTemplates), shared)
}

// SharedClaims returns the claims that a pod template names itself and that all pods share. It leaves out
// volumes with the name of a claim template.
func SharedClaims(spec corev1.PodSpec, claimTemplates []string) []Reference {
	return slices.DeleteFunc(named(spec, claimTemplates), func(ref Reference) bool { return !shared(ref) })
}

func shared(ref Reference) bool { return ref.Kind == PersistentVolumeClaim }

func named(spec corev1.PodSpec, claimTemplates []string) []Reference {
	w := walker{}
	for _, value := range Values(spec, claimTemplates) {
		if ref, names := value.reference(); names {
			w.add(ref)
		}
	}
	return w.list()
}

// Values returns all set fields of a pod template, without the volumes that a StatefulSet replaces by its own
// claims.
func Values(spec corev1.PodSpec, claimTemplates []string) []Value {
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), func(v corev1.Volume) bool { return slices.Contains(claimTemplates, v.Name) })
	return valuesOf(spec, "")
}

// WalkClaim returns the objects that a claim names; from is the place of the claim. A claim that it clones is one of
// them. That of an ephemeral volume is not looked up, because a pod template that names a claim shares it.
func WalkClaim(spec corev1.PersistentVolumeClaimSpec, from string) []Reference {
	refs := namedIn(spec, from)
	if source := spec.DataSource; source != nil && source.Kind == PersistentVolumeClaim {
		refs = Together(refs, []Reference{{Kind: PersistentVolumeClaim, Name: source.Name, From: from}})
	}
	return refs
}

// WalkVolume returns the objects that a volume names, with the namespaces that it specifies.
func WalkVolume(spec corev1.PersistentVolumeSpec, from string) []Reference {
	return namedIn(spec, from)
}

func namedIn(spec any, from string) []Reference {
	w := walker{}
	for _, value := range valuesOf(spec, from) {
		if ref, names := value.reference(); names {
			w.add(ref)
		}
	}
	return w.list()
}

func valuesOf(of any, from string) []Value {
	var all []Value
	visit(reflect.ValueOf(of), from, func(v Value) { all = append(all, v) })
	return all
}

// Further returns the objects that a dependency itself needs. These are the image pull Secrets of a
// ServiceAccount, the role of a RoleBinding, the device classes of a ResourceClaim and of a template for it, and the
// volume of a claim.
func Further(object *unstructured.Unstructured) []Reference {
	w := walker{}
	from := object.GetKind() + " " + object.GetName()
	switch object.GetKind() {
	case ServiceAccount:
		for _, secret := range items(object.Object, "imagePullSecrets") {
			if name := text(secret, "name"); !generated(object.GetName(), name) {
				w.add(Reference{Kind: Secret, Name: name, From: from})
			}
		}
	case RoleBinding:
		w.add(Reference{Kind: text(object.Object, "roleRef", "kind"), Name: text(object.Object, "roleRef", "name"), From: from})
	case PersistentVolumeClaim:
		w.add(Reference{Kind: PersistentVolume, Name: text(object.Object, "spec", "volumeName"), From: from})
	case ResourceClaimTemplate:
		w.devices(from, items(object.Object, "spec", "spec", "devices", "requests"))
	case ResourceClaim:
		w.devices(from, items(object.Object, "spec", "devices", "requests"))
	}
	return w.list()
}

// devices adds the classes of requested devices.
func (w walker) devices(from string, requests []map[string]any) {
	for _, request := range requests {
		w.add(Reference{Kind: DeviceClass, Name: text(request, "deviceClassName"), From: from})
		w.add(Reference{Kind: DeviceClass, Name: text(request, "exactly", "deviceClassName"), From: from})
		for _, choice := range items(request, "firstAvailable") {
			w.add(Reference{Kind: DeviceClass, Name: text(choice, "deviceClassName"), From: from})
		}
	}
}

// Together merges several lists of references, with each object once.
func Together(lists ...[]Reference) []Reference {
	w := walker{}
	for _, ref := range slices.Concat(lists...) {
		w.add(ref)
	}
	return w.list()
}

// generated reports whether a pull Secret was generated for a ServiceAccount by the cluster (OpenShift, image
// registry).
func generated(account, secret string) bool { return strings.HasPrefix(secret, account+"-dockercfg-") }

// items returns the objects of a list in a tree; other elements are left out.
func items(tree map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(tree, path...)
	var found []map[string]any
	for _, item := range list {
		if object, is := item.(map[string]any); is {
			found = append(found, object)
		}
	}
	return found
}

// text returns a string in a tree; empty if there is none.
func text(tree map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(tree, path...)
	return value
}

// Written reports whether a container of a pod template may write to a volume.
func Written(spec corev1.PodSpec, volume string) bool {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		mounts := func(m corev1.VolumeMount) bool { return m.Name == volume && !m.ReadOnly }
		uses := func(d corev1.VolumeDevice) bool { return d.Name == volume }
		if slices.ContainsFunc(c.VolumeMounts, mounts) || slices.ContainsFunc(c.VolumeDevices, uses) {
			return true
		}
	}
	return false
}
