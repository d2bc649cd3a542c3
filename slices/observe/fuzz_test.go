package observe

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// fuzzedMost limits the number of pods, because more pods only take more time.
const fuzzedMost = 200

// FuzzDecide: for any StatefulSet, pods and claims, nothing panics, the same input gives the same decision, and only
// observed pods are acted on.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"web"},"spec":{"replicas":2,"serviceName":"web"}}`), []byte(`[]`), []byte(`[]`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, setJSON, podsJSON, claimsJSON, formerJSON []byte) {
		set, pods, claims, former := &api.StatefulSet{}, []*corev1.Pod{}, []*corev1.PersistentVolumeClaim{}, &corev1.PodTemplateSpec{}
		for _, each := range []struct {
			data []byte
			into any
		}{{setJSON, set}, {podsJSON, &pods}, {claimsJSON, &claims}, {formerJSON, former}} {
			if json.Unmarshal(each.data, each.into) != nil {
				return
			}
		}
		spec, err := decide.SpecOf(set)
		if err != nil || spec.Replicas > fuzzedMost || spec.MaxSurge > fuzzedMost {
			return
		}
		in := inputOf(set, spec, pods, claims, former)
		decision := decide.Decide(in)
		if again := decide.Decide(in); !reflect.DeepEqual(decision, again) {
			t.Errorf("decided %+v, then %+v", decision, again)
		}
		known := map[int32]decide.Pod{}
		for _, pod := range in.Pods {
			known[pod.Ordinal] = pod
		}
		for _, action := range decision.Actions {
			if pod, seen := known[action.Ordinal]; seen == (action.Verb == decide.Create) || seen && pod.UID != action.UID {
				t.Errorf("%+v, of which was seen %+v", action, pod)
			}
		}
	})
}

// inputOf returns the input that a reconciler would see.
func inputOf(set *api.StatefulSet, spec decide.Spec, pods []*corev1.Pod, claims []*corev1.PersistentVolumeClaim, former *corev1.PodTemplateSpec) decide.Input {
	s := Seen{
		Set: set, target: "update", changes: map[string]decide.Change{}, Claims: map[string]*corev1.PersistentVolumeClaim{},
		Templates: map[string]*corev1.PodTemplateSpec{"update": &set.Spec.Template, "current": former},
	}
	for _, claim := range claims {
		if claim != nil {
			s.Claims[claim.Name] = claim
		}
	}
	byOrdinal := map[int32]*corev1.Pod{}
	in := decide.Input{Now: metav1.Now().Time, Spec: spec, Revisions: decide.Revisions{Current: "current", Update: "update"}}
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		ordinal, is := OrdinalOf(set.Name, pod.Name)
		if !is || byOrdinal[ordinal] != nil {
			continue
		}
		view := s.viewPod(pod, ordinal, spec.Owns(ordinal))
		var err error
		if view.Priority, err = priorityOf(set, pod); err != nil {
			continue
		}
		byOrdinal[ordinal] = pod
		in.Pods = append(in.Pods, view)
	}
	in.StaleClaims = s.leavingClaims(spec.Ordinals(), byOrdinal)
	return in
}
