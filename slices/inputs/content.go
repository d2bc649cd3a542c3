package inputs

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// bytesOfHash is the length of a content's hash: 64 bits, 16 hexadecimal digits.
const bytesOfHash = 8

// Object is a ConfigMap or a Secret.
type Object interface {
	metav1.Object
	runtime.Object
}

// New returns an empty object of a kind.
func New(kind api.RevisionInputKind) Object {
	if kind == api.InputSecret {
		return &corev1.Secret{}
	}
	return &corev1.ConfigMap{}
}

// ContentOf returns the hash of a ConfigMap's or Secret's data. Metadata does not count.
func ContentOf(object Object) string {
	sum := sha256.New()
	switch o := object.(type) {
	case *corev1.ConfigMap:
		write(sum, "ConfigMap")
		writeAll(sum, "data", o.Data)
		writeAll(sum, "binaryData", o.BinaryData)
	case *corev1.Secret:
		write(sum, "Secret", string(typeOf(o)))
		writeAll(sum, "data", o.Data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:bytesOfHash])
}

// write adds texts with their lengths, so that no two lists of texts are the same bytes.
func write(sum hash.Hash, texts ...string) {
	for _, text := range texts {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text)))) // a hash never returns an error
		_, _ = sum.Write([]byte(text))
	}
}

func writeAll[T string | []byte](sum hash.Hash, field string, values map[string]T) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		write(sum, field, key, string(values[key]))
	}
}

func typeOf(secret *corev1.Secret) corev1.SecretType {
	return cmp.Or(secret.Type, corev1.SecretTypeOpaque)
}

// acting are the types of Secrets on which a controller or a tool acts, so that a copy would have an effect.
var acting = []corev1.SecretType{corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, "helm.sh/release.v1"}

// Refused returns why an object cannot be an input, or an empty string.
func Refused(object Object) string {
	if secret, is := object.(*corev1.Secret); is && slices.Contains(acting, secret.Type) {
		return "is of type " + string(secret.Type) + ", which is not copied, because a controller or a tool acts on it: remove it from spec.revisionInputs"
	}
	return ""
}

// CopyOf returns the immutable copy of an object for a revision, which owns it. It has the data and less metadata, so it is not
// larger than the object.
func CopyOf(object Object, record Record, owner *appsv1.ControllerRevision) Object {
	meta := metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: record.Copy(),
		Labels:          map[string]string{api.InputCopyLabelKey: "true"},
		Annotations:     map[string]string{api.InputCopyAnnotationKey: record.Name},
		OwnerReferences: []metav1.OwnerReference{OwnerOf(owner)},
	}
	if secret, is := object.(*corev1.Secret); is {
		return &corev1.Secret{ObjectMeta: meta, Type: typeOf(secret), Data: maps.Clone(secret.Data), Immutable: new(true)}
	}
	copied := &corev1.ConfigMap{ObjectMeta: meta, Immutable: new(true)}
	if original, is := object.(*corev1.ConfigMap); is {
		copied.Data, copied.BinaryData = maps.Clone(original.Data), maps.Clone(original.BinaryData)
	}
	return copied
}

// OwnerOf returns the owner reference of a revision. A copy has one for each revision that uses it, and the garbage collector
// deletes the copy after the last of them.
func OwnerOf(revision *appsv1.ControllerRevision) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision", Name: revision.Name, UID: revision.UID,
	}
}

// Unusable returns why an existing object is not the copy of a record, or an empty string. Such an object belongs to another
// client, or was replaced.
func Unusable(object Object, record Record) string {
	switch {
	case object.GetDeletionTimestamp() != nil:
		return "it is being deleted"
	case object.GetLabels()[api.InputCopyLabelKey] != "true":
		return "it is not a copy of a revision input: it has no label " + api.InputCopyLabelKey
	case !immutable(object):
		return "it is not immutable"
	case ContentOf(object) != record.Content:
		return "it has another content"
	default:
		return ""
	}
}

func immutable(object Object) bool {
	var is *bool
	switch o := object.(type) {
	case *corev1.ConfigMap:
		is = o.Immutable
	case *corev1.Secret:
		is = o.Immutable
	}
	return is != nil && *is
}
