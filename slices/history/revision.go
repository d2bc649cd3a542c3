package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"

	api "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

const (
	// HashLabelKey is the label of a ControllerRevision with the hash of its content.
	HashLabelKey = "controller.kubernetes.io/hash"
	// ClaimsAnnotationKey is the annotation of a ControllerRevision with what the claim
	// templates requested when it was made: {"<claim template>":"<size>"}.
	ClaimsAnnotationKey = "apps.sliceshift.io/volume-claims"
)

// maxName is the length of a label value, which the name of a revision has to be: its
// pods carry it in controller-revision-hash.
const maxName = 63

// Kind is what the controller reference of a revision names.
var Kind = api.GroupVersion.WithKind("StatefulSet")

// content is what a revision records.
type content struct {
	// template is the data, as apps/v1 writes it.
	template string
	// claims is the value of ClaimsAnnotationKey; empty when nothing is known of them.
	claims string
}

// contentOf is what a revision of the set records now.
func contentOf(set *api.StatefulSet) (content, error) {
	data, err := encode(&set.Spec.Template)
	if err != nil {
		return content{}, fmt.Errorf("encoding the template of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	claims, err := claimsOf(set.Spec.VolumeClaimTemplates)
	if err != nil {
		return content{}, fmt.Errorf("encoding the claim templates of StatefulSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return content{template: string(data), claims: claims}, nil
}

// recordedBy is what a revision records. Data that cannot be read is equal to no
// template.
func recordedBy(revision *appsv1.ControllerRevision) content {
	c := content{claims: revision.Annotations[ClaimsAnnotationKey]}
	template, err := Apply(revision)
	if err != nil {
		return c
	}
	if data, err := encode(&template); err == nil {
		c.template = string(data)
	}
	return c
}

// encode writes a template as a strategic merge patch that replaces the one of a
// StatefulSet. Keys are in the order of apps/v1, which is alphabetical.
func encode(template *corev1.PodTemplateSpec) ([]byte, error) {
	data, err := json.Marshal(Canonical(template))
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// claimsOf is what claim templates request.
func claimsOf(templates []corev1.PersistentVolumeClaim) (string, error) {
	if len(templates) == 0 {
		return "", nil
	}
	sizes := map[string]string{}
	for i := range templates {
		size := templates[i].Spec.Resources.Requests[corev1.ResourceStorage]
		sizes[templates[i].Name] = size.String()
	}
	data, err := json.Marshal(sizes)
	return string(data), err
}

// Apply is the template that a revision records, with the defaults of apps/v1 filled
// in: for a pod that is made at this revision, and for undo. What claim templates
// requested is not taken back: a claim cannot shrink.
func Apply(revision *appsv1.ControllerRevision) (corev1.PodTemplateSpec, error) {
	var patch struct {
		Spec struct {
			Template *corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := json.Unmarshal(revision.Data.Raw, &patch)
	if err == nil && patch.Spec.Template == nil {
		err = errors.New("it has no spec.template")
	}
	if err != nil {
		return corev1.PodTemplateSpec{}, fmt.Errorf("reading ControllerRevision %s/%s: %w; it was not written for a StatefulSet: delete it",
			revision.Namespace, revision.Name, err)
	}
	return *Canonical(patch.Spec.Template), nil
}

// Matches says whether a revision means what the set's template says. Claim templates
// count only when they are rolled out with it.
func Matches(set *api.StatefulSet, revision *appsv1.ControllerRevision) bool {
	want, err := contentOf(set)
	return err == nil && want.fits(recordedBy(revision), versionsClaims(set))
}

// fits says whether a set that asks for c may keep a revision.
func (c content) fits(revision content, claims bool) bool {
	return c.template == revision.template && (!claims || revision.claims == "" || c.claims == revision.claims)
}

// versionsClaims says whether another size of a claim template is rolled out.
func versionsClaims(set *api.StatefulSet) bool {
	strategy := set.Spec.VolumeClaimUpdateStrategy
	return strategy != nil && strategy.Type == api.OnPodRollingUpdate
}

// revisionFor makes the revision that records c. Without versioned claims its name is
// the one that apps/v1 would give it.
func revisionFor(set *api.StatefulSet, c content, number int64, collisions int32) *appsv1.ControllerRevision {
	hashed := c.template
	if versionsClaims(set) {
		hashed += c.claims
	}
	hash := hashOf(hashed, collisions)
	labels := maps.Clone(set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[HashLabelKey] = hash
	annotations := maps.Clone(set.Annotations) // among them kubernetes.io/change-cause
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if c.claims != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[ClaimsAnnotationKey] = c.claims
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: nameOf(set.Name, hash), Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, Kind)},
		},
		Data: runtime.RawExtension{Raw: []byte(c.template)}, Revision: number,
	}
}

// hashOf is the hash of apps/v1. The count keeps contents apart whose hashes are equal.
func hashOf(text string, collisions int32) string {
	hash := fnv.New32()
	_, _ = hash.Write([]byte(text + strconv.Itoa(int(collisions)))) // a hash takes all
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// nameOf is a name that is a label value too.
func nameOf(set, hash string) string {
	set = set[:min(len(set), maxName-len(hash)-1)]
	return strings.TrimRight(set, "-.") + "-" + hash
}
