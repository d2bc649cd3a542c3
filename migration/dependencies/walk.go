package dependencies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultAccount is the ServiceAccount of pods that name none.
const DefaultAccount = "default"

// AccountOf is the name of the ServiceAccount that pods run under.
func AccountOf(spec corev1.PodSpec) string { return cmp.Or(spec.ServiceAccountName, DefaultAccount) }

// walker gathers references: of each object one, which is optional when all that name it are.
type walker map[[2]string]Reference

func (w walker) add(kind, name, from string, optional *bool) {
	if name == "" || kind == ConfigMap && slices.Contains(published, name) {
		return
	}
	key := [2]string{kind, name}
	next := Reference{Kind: kind, Name: name, From: from, Optional: optional != nil && *optional}
	if before, found := w[key]; !found || before.Optional && !next.Optional {
		w[key] = next
	}
}

// published are the ConfigMaps that each cluster makes in each namespace by itself (kubernetes
// pkg/controller/certificates/rootcacertpublisher; OpenShift service-ca).
var published = []string{"kube-root-ca.crt", "openshift-service-ca.crt"}

// list are the references in the order in which copies are made.
func (w walker) list() []Reference {
	all := make([]Reference, 0, len(w))
	for _, ref := range w {
		all = append(all, ref)
	}
	slices.SortFunc(all, compareReferences)
	return all
}

func compareReferences(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.Name, b.Name))
}

// Walk finds all that a pod template names, in the order in which copies are made. Volumes that are
// named as a claim template are left out: the StatefulSet puts its own claims there. Of claims that
// all pods share SharedClaims tells.
func Walk(spec corev1.PodSpec, claimTemplates []string) []Reference {
	w := walker{}
	w.add(ServiceAccount, spec.ServiceAccountName, "serviceAccountName", nil)
	w.add(PriorityClass, spec.PriorityClassName, "priorityClassName", nil)
	if spec.RuntimeClassName != nil {
		w.add(RuntimeClass, *spec.RuntimeClassName, "runtimeClassName", nil)
	}
	for _, ref := range spec.ImagePullSecrets {
		w.add(Secret, ref.Name, "imagePullSecrets", nil)
	}
	for _, claim := range spec.ResourceClaims {
		from := "resource claim " + claim.Name
		if claim.ResourceClaimTemplateName != nil {
			w.add(ResourceClaimTemplate, *claim.ResourceClaimTemplateName, from, nil)
		}
		if claim.ResourceClaimName != nil {
			w.add(ResourceClaim, *claim.ResourceClaimName, from, nil)
		}
	}
	for i := range spec.Volumes {
		if !slices.Contains(claimTemplates, spec.Volumes[i].Name) {
			w.volume(spec.Volumes[i])
		}
	}
	for i := range spec.InitContainers { // sidecars are among them
		w.container(spec.InitContainers[i], "init container ")
	}
	for i := range spec.Containers {
		w.container(spec.Containers[i], "container ")
	}
	for i := range spec.EphemeralContainers {
		w.container(corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon), "ephemeral container ")
	}
	return w.list()
}

// SharedClaims finds the claims that a pod template names itself and all pods share. A volume that is
// named as a claim template is left out.
func SharedClaims(spec corev1.PodSpec, claimTemplates []string) []Reference {
	w := walker{}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if v.PersistentVolumeClaim != nil && !slices.Contains(claimTemplates, v.Name) {
			w.add(PersistentVolumeClaim, v.PersistentVolumeClaim.ClaimName, "volume "+v.Name, nil)
		}
	}
	return w.list()
}

func (w walker) container(c corev1.Container, what string) {
	for _, from := range c.EnvFrom {
		where := "envFrom of " + what + c.Name
		if from.ConfigMapRef != nil {
			w.add(ConfigMap, from.ConfigMapRef.Name, where, from.ConfigMapRef.Optional)
		}
		if from.SecretRef != nil {
			w.add(Secret, from.SecretRef.Name, where, from.SecretRef.Optional)
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom == nil {
			continue
		}
		where := fmt.Sprintf("env %s of %s%s", env.Name, what, c.Name)
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			w.add(ConfigMap, ref.Name, where, ref.Optional)
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			w.add(Secret, ref.Name, where, ref.Optional)
		}
	}
}

// secretsStore is the driver whose volumes name a SecretProviderClass, and the attribute that does
// (kubernetes-sigs/secrets-store-csi-driver).
const (
	secretsStore          = "secrets-store.csi.k8s.io"
	secretsStoreAttribute = "secretProviderClass"
)

func (w walker) volume(v corev1.Volume) {
	from := "volume " + v.Name
	if v.ConfigMap != nil {
		w.add(ConfigMap, v.ConfigMap.Name, from, v.ConfigMap.Optional)
	}
	if v.Secret != nil {
		w.add(Secret, v.Secret.SecretName, from, v.Secret.Optional)
	}
	if v.Projected != nil {
		for i := range v.Projected.Sources {
			w.projected(v.Projected.Sources[i], from)
		}
	}
	if v.CSI != nil {
		w.add(CSIDriver, v.CSI.Driver, from, nil)
		w.local(v.CSI.NodePublishSecretRef, from)
		if v.CSI.Driver == secretsStore {
			w.add(SecretProviderClass, v.CSI.VolumeAttributes[secretsStoreAttribute], from, nil)
		}
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		if class := v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName; class != nil {
			w.add(StorageClass, *class, from, nil)
		}
	}
	w.inTree(v, from)
}

func (w walker) projected(source corev1.VolumeProjection, from string) {
	if source.ConfigMap != nil {
		w.add(ConfigMap, source.ConfigMap.Name, from, source.ConfigMap.Optional)
	}
	if source.Secret != nil {
		w.add(Secret, source.Secret.Name, from, source.Secret.Optional)
	}
	if bundle := source.ClusterTrustBundle; bundle != nil && bundle.Name != nil {
		w.add(ClusterTrustBundle, *bundle.Name, from, bundle.Optional)
	}
}

// inTree adds the credentials of volumes whose driver is in Kubernetes itself.
func (w walker) inTree(v corev1.Volume, from string) {
	if v.AzureFile != nil {
		w.add(Secret, v.AzureFile.SecretName, from, nil)
	}
	if v.CephFS != nil {
		w.local(v.CephFS.SecretRef, from)
	}
	if v.Cinder != nil {
		w.local(v.Cinder.SecretRef, from)
	}
	if v.FlexVolume != nil {
		w.local(v.FlexVolume.SecretRef, from)
	}
	if v.ISCSI != nil {
		w.local(v.ISCSI.SecretRef, from)
	}
	if v.RBD != nil {
		w.local(v.RBD.SecretRef, from)
	}
	if v.ScaleIO != nil {
		w.local(v.ScaleIO.SecretRef, from)
	}
	if v.StorageOS != nil {
		w.local(v.StorageOS.SecretRef, from)
	}
}

func (w walker) local(ref *corev1.LocalObjectReference, from string) {
	if ref != nil {
		w.add(Secret, ref.Name, from, nil)
	}
}

// Further is what an object that pods depend on needs itself: a ServiceAccount its image pull
// Secrets, a RoleBinding its role, a ResourceClaimTemplate its device classes, a claim its volume.
func Further(object *unstructured.Unstructured) []Reference {
	w := walker{}
	from := object.GetKind() + " " + object.GetName()
	switch object.GetKind() {
	case ServiceAccount:
		for _, secret := range items(object.Object, "imagePullSecrets") {
			if name := text(secret, "name"); !generated(object.GetName(), name) {
				w.add(Secret, name, from, nil)
			}
		}
	case RoleBinding:
		w.add(text(object.Object, "roleRef", "kind"), text(object.Object, "roleRef", "name"), from, nil)
	case PersistentVolumeClaim:
		w.add(PersistentVolume, text(object.Object, "spec", "volumeName"), from, nil)
	case ResourceClaimTemplate:
		for _, request := range items(object.Object, "spec", "spec", "devices", "requests") {
			w.add(DeviceClass, text(request, "deviceClassName"), from, nil)
			w.add(DeviceClass, text(request, "exactly", "deviceClassName"), from, nil)
			for _, choice := range items(request, "firstAvailable") {
				w.add(DeviceClass, text(choice, "deviceClassName"), from, nil)
			}
		}
	}
	return w.list()
}

// Together are the references of several lists, each object once.
func Together(lists ...[]Reference) []Reference {
	w := walker{}
	for _, ref := range slices.Concat(lists...) {
		w.add(ref.Kind, ref.Name, ref.From, &ref.Optional)
	}
	return w.list()
}

// generated says whether a cluster has made a pull Secret for a ServiceAccount by itself
// (OpenShift, image registry).
func generated(account, secret string) bool { return strings.HasPrefix(secret, account+"-dockercfg-") }

// items is a list of objects in a tree; what is none is left out.
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

// text is a string in a tree; empty where there is none.
func text(tree map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(tree, path...)
	return value
}
