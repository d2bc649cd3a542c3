package history

import (
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// webSet returns StatefulSet shop/web with one container of an image.
func webSet(image string) *api.StatefulSet {
	return &api.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"},
		Spec: api.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
			},
		},
	}
}

// growing makes a set roll out the size of its claim template.
func growing(set *api.StatefulSet, size string) *api.StatefulSet {
	set.Spec.VolumeClaimUpdateStrategy = &api.VolumeClaimUpdateStrategy{Type: api.OnPodRollingUpdate}
	return claiming(set, size)
}

// claiming adds one claim template to a set.
func claiming(set *api.StatefulSet, size string) *api.StatefulSet {
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		}},
	}}
	return set
}

// at sets the current revision.
func at(set *api.StatefulSet, current string) *api.StatefulSet {
	set.Status.CurrentRevision = current
	return set
}

// past returns a revision of shop/web under a name of its own.
func past(name string, number int64, image string) *appsv1.ControllerRevision {
	revision := recorded(webSet(image), number)
	revision.Name = name
	return revision
}

// recorded returns the revision that records a set.
func recorded(set *api.StatefulSet, number int64) *appsv1.ControllerRevision {
	c, err := contentOf(set)
	if err != nil {
		panic(err)
	}
	revision := revisionFor(set, c, number, 0)
	revision.UID = types.UID(fmt.Sprint("uid-", number, "-", revision.Name))
	return revision
}

// orphaned removes the owners.
func orphaned(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	revision.OwnerReferences = nil
	return revision
}

// withData replaces the data of a revision.
func withData(revision *appsv1.ControllerRevision, data string) *appsv1.ControllerRevision {
	revision.Data = runtime.RawExtension{Raw: []byte(data)}
	return revision
}

func names(revisions []*appsv1.ControllerRevision) []string {
	var out []string
	for _, revision := range revisions {
		out = append(out, revision.Name)
	}
	return out
}

// outcome is a decision as text.
type outcome struct {
	current, update string
	create          bool
	number          int64
	claims          string
	relabel         map[string]string
	prune           []string
}

func decide(t *testing.T, s State) outcome {
	t.Helper()
	d, err := Decide(s)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{current: d.Current.Name, update: d.Update.Name, create: d.Create, number: d.Number, claims: d.Claims, prune: names(d.Prune)}
	if len(d.Relabel) > 0 {
		o.relabel = maps.Clone(d.Relabel)
	}
	return o
}

func envFrom(config string) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: config}}}}
}

func limited(set *api.StatefulSet, limit int32) *api.StatefulSet {
	set.Spec.RevisionHistoryLimit = new(limit)
	return set
}
