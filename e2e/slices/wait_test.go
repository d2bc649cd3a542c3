package slices

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/kstatus/watcher"
	"github.com/fluxcd/cli-utils/pkg/object"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// waits runs kubectl wait until the set has a condition, and checks that kstatus agrees.
func (p *play) waits(condition string, want status.Status) {
	p.t.Helper()
	out, err := embedded.Kubectl(p.ctx, "wait", "--for=condition="+condition, "slice/web", "-n", p.set.Namespace, "--timeout=30s").CombinedOutput()
	if err != nil {
		p.t.Fatalf("kubectl wait for %s: %v\n%s\n%s", condition, err, out, p)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(sliceapi.GroupVersion.WithKind("StatefulSet"))
	p.must(api.Get(p.ctx, client.ObjectKeyFromObject(p.set), object))
	if got, err := status.Compute(object); err != nil || got.Status != want {
		p.t.Errorf("%+v, want %s: %v", got, want, err)
	}
}

// healthCheck waits, as Flux does, until the set is Current or has Failed, and returns the states on the way.
func (p *play) healthCheck() (states []event.ResourceStatus) {
	p.t.Helper()
	ctx, leave := context.WithTimeout(p.ctx, time.Minute)
	defer leave()
	reads, err := dynamic.NewForConfig(embedded.RESTConfig())
	p.must(err)
	id := object.ObjMetadata{Namespace: p.set.Namespace, Name: p.set.Name, GroupKind: sliceapi.GroupVersion.WithKind("StatefulSet").GroupKind()}
	for e := range watcher.NewDefaultStatusWatcher(reads, api.RESTMapper()).Watch(ctx, object.ObjMetadataSet{id}, watcher.Options{}) {
		if e.Error != nil {
			p.t.Fatalf("the health check: %v", e.Error)
		}
		if e.Resource == nil || e.Resource.Identifier != id {
			continue
		}
		states = append(states, *e.Resource)
		if is := e.Resource.Status; is == status.CurrentStatus || is == status.FailedStatus {
			return states
		}
	}
	p.t.Fatalf("the health check does not end: %v\n%s", states, p)
	return nil
}

// TestHealthCheck: a health check that starts with a change ends when the change is complete or has failed, and not
// before.
func TestHealthCheck(t *testing.T) {
	set := slice(3)
	set.Spec.ProgressDeadlineSeconds = new(int32(2))
	p := newPlay(t, set)
	ends := func(t *testing.T, want status.Status) {
		states := p.healthCheck()
		for _, one := range states {
			t.Logf("%s: %s", one.Status, one.Message)
		}
		if last := states[len(states)-1]; last.Status != want || len(states) < 2 || states[0].Status != status.InProgressStatus {
			t.Errorf("it ends with %s after %d states, want %s", last.Status, len(states), want)
		}
	}
	p.step("U-01: a new set", func(t *testing.T) {
		p.must(api.Create(p.ctx, set))
		ends(t, status.CurrentStatus)
	})
	p.step("U-01: a change that never gets Ready", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = stuck
			s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}
		})
		ends(t, status.FailedStatus)
	})
}

// TestKubectlWait: kubectl wait ends when the set has its requested state, and not before.
func TestKubectlWait(t *testing.T) {
	set := slice(3)
	set.Spec.ProgressDeadlineSeconds = new(int32(2))
	p := newPlay(t, set)
	asAsked := func(t *testing.T) {
		p.waits(sliceapi.ConditionReady, status.CurrentStatus)
		if !p.isComplete() {
			t.Errorf("it is not: %s", p)
		}
	}
	p.step("U-01: a new set", func(t *testing.T) {
		p.must(api.Create(p.ctx, set))
		asAsked(t)
	})
	p.step("U-01: a change that never gets Ready", func(*testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = stuck
			s.Template.Annotations = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}
		})
		p.waits(sliceapi.ConditionStalled, status.FailedStatus)
	})
	p.step("U-01: one that mends it", func(t *testing.T) {
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Spec.Containers[0].Image = "web:2"
			s.Template.Annotations = nil
		})
		asAsked(t)
	})
	p.step("U-01: a scale-up, and a scale-down", func(t *testing.T) {
		p.scale(4)
		asAsked(t)
		p.scale(1)
		asAsked(t)
	})
}
