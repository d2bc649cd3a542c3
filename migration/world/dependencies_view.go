package world

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// refused returns why an object is not copied at all; zero if it is.
func (r CopyReader) refused(origin *unstructured.Unstructured, account string) volumes.Reason {
	if origin == nil {
		return volumes.Reason{}
	}
	why := dependencies.Refused(origin, account)
	if origin.GetKind() == dependencies.Secret && slices.Contains(r.Withheld, origin.GetName()) {
		why = "holds credentials that the Migration itself uses, and these are not copied"
	}
	if why == "" {
		return volumes.Reason{}
	}
	return volumes.Reason{
		Reason:  api.ReasonDependencyNotCopied,
		Message: fmt.Sprintf("%s %s/%s, which the pods need, %s", origin.GetKind(), origin.GetNamespace(), origin.GetName(), why),
		Remedy:  "take it out of the pod template, or create a Secret of that name at the destination yourself; to see it: " + r.Source.Kubectl().Do("get", "secret", "-n", origin.GetNamespace(), origin.GetName()),
	}
}

// writers lists the annotations with which tools mark the objects that they write, and the origin of these objects.
var writers = []struct{ annotation, from string }{
	{"cert-manager.io/certificate-name", "Certificate"},
	{"reflector.v1.k8s.emberstack.com/reflects", "the reflected"},
	{"replicator.v1.mittwald.de/replicated-from-version", "the replicator of"},
	{"replicator.v1.mittwald.de/replicate-from", "the replicated"},
	{"secrets.hashicorp.com/vso-owner", "the Vault Secrets Operator's"},
	{"sealedsecrets.bitnami.com/managed", "SealedSecret"},
}

// owners lists the kinds of owners that write the objects that they own without being the controller.
var owners = []string{"Certificate", "ExternalSecret", "SealedSecret", "VaultStaticSecret", "VaultDynamicSecret", "VaultPKISecret", "OnePasswordItem", "InfisicalSecret"}

// keeperOf returns the object that an object is generated from, such as the ExternalSecret of a Secret. A copy would
// not be updated by it.
func keeperOf(origin *unstructured.Unstructured) string {
	if owner := metav1.GetControllerOf(origin); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for _, owner := range origin.GetOwnerReferences() {
		if slices.Contains(owners, owner.Kind) {
			return owner.Kind + " " + owner.Name
		}
	}
	for _, writer := range writers {
		switch value := origin.GetAnnotations()[writer.annotation]; value {
		case "":
		case "true":
			return writer.from + " " + origin.GetName()
		default:
			return writer.from + " " + value
		}
	}
	return ""
}

// contents lists the fields of dependencies that a foreign writer may own, in the notation of managed fields.
var contents = []string{
	`"f:data"`, `"f:binaryData"`, `"f:immutable"`, `"f:type"`, `"f:spec"`, `"f:parameters"`, `"f:rules"`, `"f:subjects"`, `"f:roleRef"`,
	`"f:imagePullSecrets"`, `"f:automountServiceAccountToken"`, `"f:annotations"`,
}

// copyOf returns the view of an object of the destination as a copy. Other writers matter only if its content differs
// from the copied content, because an API server may store another form than it receives.
func (r CopyReader) copyOf(there *unstructured.Unstructured, way dependencies.Way) plan.Copy {
	owner := there.GetLabels()[api.OwnerLabelKey]
	c := plan.Copy{
		Found: true, UID: there.GetUID(), ResourceVersion: there.GetResourceVersion(), Terminating: there.GetDeletionTimestamp() != nil, Keeps: volumes.KeepersOf(there),
		Hash: dependencies.Hash(dependencies.Clean(there, way.Home())), Ours: owner == string(r.Owner), Anothers: owner != "" && owner != string(r.Owner),
	}
	switch there.GetKind() {
	case dependencies.PersistentVolumeClaim:
		c.Unbound = text(there, "status", "phase") != string(corev1.ClaimBound)
	case dependencies.PersistentVolume:
		c.Releases = text(there, "spec", "persistentVolumeReclaimPolicy") != string(corev1.PersistentVolumeReclaimRetain)
	}
	mark := dependencies.ParseMark(there.GetAnnotations()[api.OriginAnnotationKey])
	namespace := way.From.Namespace
	if there.GetNamespace() == "" {
		namespace = ""
	}
	if !mark.Of(r.Source.ID, namespace, there.GetName()) {
		return c
	}
	c.Marked, c.Copied, c.PutBack = true, mark.Hash, mark.PutBack
	if c.Hash != mark.Hash {
		c.EditedBy = foreignWriter(there.GetManagedFields(), there.GetCreationTimestamp().Time, contents...)
	}
	return c
}

// stranger returns a pod of another application that a Service or a NetworkPolicy would select at the destination.
// Pods that it selects at the source do not matter.
func (r CopyReader) stranger(ctx context.Context, origin *unstructured.Unstructured) (string, error) {
	if origin == nil {
		return "", nil
	}
	selector := dependencies.Selector(origin)
	if selector == nil {
		return "", nil
	}
	pods, err := podsSelected(ctx, r.Destination, selector)
	if err != nil {
		return "", err
	}
	if name := dependencies.Stranger(selector, r.Destination.Set, pods); name != "" {
		return r.Destination.Namespace + "/" + name + " in cluster " + r.Destination.Cluster, nil
	}
	return "", nil
}

func podsSelected(ctx context.Context, at endpoint.Endpoint, selector labels.Selector) ([]corev1.Pod, error) {
	reader := client.Reader(at.Live)
	if at.Cached != nil {
		reader = at.Cached
	}
	var pods corev1.PodList
	err := reader.List(ctx, &pods, client.InNamespace(at.Namespace), client.MatchingLabelsSelector{Selector: selector})
	return pods.Items, err
}
