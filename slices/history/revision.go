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

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

const (
	// HashLabelKey is the label of a ControllerRevision that holds the hash of its content.
	HashLabelKey = "controller.kubernetes.io/hash"
	// ClaimsAnnotationKey is the annotation of a ControllerRevision that holds the requests of the claim templates at its
	// creation: {"<claim template>":"<size>"}.
	ClaimsAnnotationKey = "apps.sliceshift.io/volume-claims"
)

// maxName is the maximum length of a label value. It limits the name of a revision, because pods have it in the label
// controller-revision-hash.
const maxName = 63

// Kind is the kind in the controller reference of a revision.
var Kind = api.GroupVersion.WithKind("StatefulSet")

// content is the content of a revision.
type content struct {
	// template is the data, as apps/v1 writes it.
	template string
	// claims is the value of ClaimsAnnotationKey. Empty means unknown.
	claims string
	// inputs is the value of api.RevisionInputsAnnotationKey. Empty means none: pods refer to the objects themselves.
	inputs string
}

// contentOf returns the content of a revision for the set's current spec.
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

// recordedBy returns the content of a revision. Data that cannot be parsed gives an empty template, which equals no other.
func recordedBy(revision *appsv1.ControllerRevision) content {
	c := content{claims: revision.Annotations[ClaimsAnnotationKey]}
	template, err := Apply(revision)
	if err != nil {
		return c
	}
	records, err := inputs.RecordsOf(revision)
	if err != nil {
		return c
	}
	c.inputs = inputs.Encode(records)
	if data, err := encode(&template); err == nil {
		c.template = string(data)
	}
	return c
}

// encode returns a template as a strategic merge patch that replaces the template of a StatefulSet. The keys are in the
// order of apps/v1, which is alphabetical.
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

// claimsOf returns the requests of claim templates.
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

// Apply returns the template of a revision, with the defaults of apps/v1 set. It is used to create a pod at this revision,
// and for a rollback. The requests of claim templates are not rolled back, because a claim cannot shrink.
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

// PodTemplate returns the template of the pods of a revision: that of Apply, with references to the copies of its inputs.
func PodTemplate(revision *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	template, err := Apply(revision)
	if err != nil {
		return nil, err
	}
	records, err := inputs.RecordsOf(revision)
	return inputs.Rewrite(&template, records), err
}

// Matches reports whether a revision is equivalent to the set's template, whatever its inputs are. Claim templates count only
// if they are versioned with it.
func Matches(set *api.StatefulSet, revision *appsv1.ControllerRevision) bool {
	want, err := contentOf(set)
	recorded := recordedBy(revision)
	want.inputs = recorded.inputs
	return err == nil && want.fits(recorded, versionsClaims(set))
}

// Equivalent reports whether two revisions produce the same pods of a set.
func Equivalent(set *api.StatefulSet, a, b *appsv1.ControllerRevision) bool {
	return recordedBy(a).fits(recordedBy(b), versionsClaims(set))
}

// fits reports whether a revision is equivalent to the desired content c.
func (c content) fits(revision content, claims bool) bool {
	return c.template == revision.template && c.inputs == revision.inputs && (!claims || revision.claims == "" || c.claims == revision.claims)
}

// versionsClaims reports whether a size change of a claim template is rolled out.
func versionsClaims(set *api.StatefulSet) bool {
	strategy := set.Spec.VolumeClaimUpdateStrategy
	return strategy != nil && strategy.Type == api.OnPodRollingUpdate
}

// revisionFor returns the revision with content c. Without versioned claims and inputs, its name is the name that apps/v1 would
// use.
func revisionFor(set *api.StatefulSet, c content, number int64, collisions int32) *appsv1.ControllerRevision {
	hashed := c.template
	if versionsClaims(set) {
		hashed += c.claims
	}
	hashed += c.inputs
	hash := hashOf(hashed, collisions)
	labels := maps.Clone(set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[HashLabelKey] = hash
	annotations := maps.Clone(set.Annotations) // including kubernetes.io/change-cause
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	delete(annotations, api.RevisionInputsAnnotationKey)
	for key, value := range map[string]string{ClaimsAnnotationKey: c.claims, api.RevisionInputsAnnotationKey: c.inputs} {
		if value == "" {
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: nameOf(set.Name, hash), Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, Kind)},
		},
		Data: runtime.RawExtension{Raw: []byte(c.template)}, Revision: number,
	}
}

// hashOf returns the hash of apps/v1. The collision count distinguishes contents with equal hashes.
func hashOf(text string, collisions int32) string {
	hash := fnv.New32()
	_, _ = hash.Write([]byte(text + strconv.Itoa(int(collisions)))) // a hash never returns an error
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// nameOf returns a name that is also a valid label value.
func nameOf(set, hash string) string {
	set = set[:min(len(set), maxName-len(hash)-1)]
	return strings.TrimRight(set, "-.") + "-" + hash
}
