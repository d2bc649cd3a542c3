package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// writesOf returns all possible writes on a pod, for any decision.
func writesOf(t *testing.T, pod *corev1.Pod) (writes []string) {
	t.Helper()
	note := func(what string, o client.Object, patch client.Patch) error {
		data, err := patch.Data(o)
		writes = append(writes, fmt.Sprintf("%s %s: %s", what, patch.Type(), data))
		return err
	}
	h, _ := newControl(t, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			data, err := json.Marshal(o)
			writes = append(writes, fmt.Sprintf("create %T: %s", o, data))
			return err
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
			return note("patch", o, patch)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, sub string, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			return note(sub, o, patch)
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			t.Error("a pod is updated as a whole: what the cache leaves out is gone")
			return nil
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			t.Error("a pod is updated as a whole: what the cache leaves out is gone")
			return nil
		},
	})
	h.Templates = map[string]*corev1.PodTemplateSpec{"r1": slicetest.TemplateWith("a:1", "1"), "r2": slicetest.TemplateWith("a:2", "2")}
	for _, verb := range []decide.Verb{decide.Announce, decide.CreateClaims, decide.OwnClaims, decide.Repair, decide.Relabel, decide.BeginInPlace, decide.PatchInPlace, decide.FinishInPlace, decide.PrePull, TellState} {
		action := decide.Action{Verb: verb, UID: pod.UID, Revision: "r2", Reason: api.TerminationUpdate}
		if err := h.one(t.Context(), action, pod.DeepCopy()); err != nil {
			writes = append(writes, fmt.Sprintf("%s: %v", verb, err))
		}
	}
	if err := h.release(t.Context(), h.Set, pod.DeepCopy()); err != nil {
		t.Error(err)
	}
	h.pods[0] = pod
	for _, gate := range h.gates(nil) {
		writes = append(writes, fmt.Sprint(gate))
	}
	return writes
}

// TestWritesOfTrimmedPods: no write needs a field that the cache omits, and no write removes such a field from the pod.
func TestWritesOfTrimmedPods(t *testing.T) {
	trim := func(object any) (any, error) { return object, errors.New("pods are kept whole") }
	for object, kept := range observe.CacheOptions(cache.Options{}).ByObject {
		if _, pod := object.(*corev1.Pod); pod {
			trim = kept.Transform
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		full := slicetest.AnyPod(r)
		trimmed := full.DeepCopy()
		if _, err := trim(trimmed); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(writesOf(t, full), writesOf(t, trimmed)); diff != "" {
			r.Fatalf("other things are written (-full +trimmed):\n%s", diff)
		}
	})
}
