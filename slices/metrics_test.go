package slices

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/execute"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

// measured returns the samples whose labels all match: name and further labels, without the set.
func measured(t *testing.T, match map[string]string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			left, words := len(match), []string{strings.TrimPrefix(family.GetName(), "sliceshift_statefulset_")}
			for _, label := range m.Label {
				switch want, matched := match[label.GetName()]; {
				case matched && want == label.GetValue():
					left--
				case !matched:
					words = append(words, label.GetValue())
				}
			}
			if left == 0 {
				samples[strings.Join(words, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return samples
}

// TestSetMetrics: a set is measured in each pass, and its values are removed when it is deleted.
func TestSetMetrics(t *testing.T) {
	s := newStage(t, 3)
	of := map[string]string{"namespace": s.key.Namespace, "name": s.key.Name}
	s.change(func(spec *api.StatefulSetSpec) {
		spec.Ordinals = &api.Ordinals{Start: 5}
		spec.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.FromString("40%"))
	})
	t.Run("U-02: a set that is as it was asked for", func(t *testing.T) {
		if err := s.passes(12); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{
			"replicas desired": 3, "replicas existing": 3, "replicas current": 3, "replicas updated": 3, "replicas ready": 3, "replicas available": 3, "replicas unavailable": 0,
			"ordinals_start": 5, "max_unavailable": 2, "rollout_last_progress_timestamp_seconds": 0,
			"is ready": 1, "is complete": 1, "is stalled": 0, "is failed": 0, "is held": 0, "is budget": 0,
		}
		if diff := cmp.Diff(want, measured(t, of)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("U-02: a roll-out that makes no progress", func(t *testing.T) {
		begun := s.clock.Now()
		s.image("stuck")
		s.step = 20 * time.Second
		s.change(func(spec *api.StatefulSetSpec) { spec.UpdateStrategy.RollingUpdate.OnFailure = api.Halt })
		_ = s.passes(3)
		got := measured(t, of)
		if at := time.Unix(int64(got["rollout_last_progress_timestamp_seconds"]), 0); at.Before(begun) || at.After(s.clock.Now()) {
			t.Errorf("last progress at %s", at)
		}
		_ = s.passes(30)
		got = measured(t, of)
		if got["is stalled"] != 1 || got["is ready"] != 0 || got["is complete"] != 0 || got["is held"] != 1 || got["replicas unavailable"] == 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("U-02: a set that is gone", func(t *testing.T) {
		set := s.set()
		set.Finalizers = nil
		if err := s.server.Update(s.ctx, set); err != nil {
			t.Fatal(err)
		}
		if err := client.IgnoreNotFound(s.server.Delete(s.ctx, set)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.pass(); err != nil {
			t.Fatal(err)
		}
		if got := measured(t, of); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
	})
}

// TestWriteMetrics: writes are counted by result.
func TestWriteMetrics(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"U-02 done", nil, "done"},
		{"U-02 changed meanwhile", fmt.Errorf("pod web-0: %w", apierrors.NewConflict(corev1.Resource("pods"), "web-0", errors.New("changed"))), "conflict"},
		{"U-02 quota", fmt.Errorf("pod web-0: %w", errQuota), "refused"},
		{"U-02 overloaded", apierrors.NewInternalError(errors.New("etcd")), "failed"},
		{"U-02 no answer", errors.New("EOF"), "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			verb := "Test " + c.name
			execute.RecordWrite(verb, c.err)
			if diff := cmp.Diff(map[string]float64{"writes_total " + c.want: 1}, measured(t, map[string]string{"verb": verb})); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("U-02: a pass counts what it does, and its status write", func(t *testing.T) {
		before := measured(t, map[string]string{"result": "done"})
		if err := newStage(t, 2).passes(3); err != nil {
			t.Fatal(err)
		}
		after := measured(t, map[string]string{"result": "done"})
		for _, verb := range []string{string(decide.Create), writeStatus} {
			if name := "writes_total " + verb; after[name] <= before[name] {
				t.Errorf("%s: %v, then %v", name, before[name], after[name])
			}
		}
	})
}

// TestUnavailableMetrics: how many pods an update may take down at once, and how many are unavailable.
func TestUnavailableMetrics(t *testing.T) {
	for _, c := range []struct {
		name      string
		most      string
		strategy  api.UpdateStrategyType
		pods      string
		max, down float64
	}{
		{"K-069 20% of 10", "20%", api.RollingUpdate, "b b b b b b b b b b", 2, 0},
		{"K-069 25% of 8", "25%", api.RollingUpdate, "b b b b b b b b-", 2, 1},
		{"K-069 80% of 5", "80%", api.RollingUpdate, "b b- b- b- b-", 4, 4},
		{"K-069 3 of 5", "3", api.RollingUpdate, "b b b b .", 3, 1},
		{"K-069 none is said", "", api.RollingUpdate, "b b b", 1, 0},
		{"K-069 none is said, all are down", "", api.RollingUpdate, ". b- b?", 1, 3},
		{"K-069 OnDelete", "", api.OnDelete, "b b b", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			replicas := int32(len(strings.Fields(c.pods)))
			set := slicetest.NamedSet("web", nil)
			set.Spec.Replicas, set.Spec.UpdateStrategy.Type = &replicas, c.strategy
			if c.most != "" {
				set.Spec.UpdateStrategy.RollingUpdate = &api.RollingUpdateStrategy{MaxUnavailable: new(intstr.Parse(c.most))}
			}
			spec, err := decide.SpecOf(set)
			if err != nil {
				t.Fatal(err)
			}
			in := decide.Input{Now: slicetest.Noon, Spec: spec, Revisions: decide.Revisions{Current: "b", Update: "b"}, Pods: slicetest.PodsOf(0, c.pods)}
			key := types.NamespacedName{Namespace: "metrics", Name: c.name}
			gauges.record(key, samplesOf(in, decide.Decide(in)))
			got := measured(t, map[string]string{"namespace": key.Namespace, "name": key.Name})
			if got["max_unavailable"] != c.max || got["replicas unavailable"] != c.down {
				t.Errorf("got %v", got)
			}
			if gauges.forget(key); len(measured(t, map[string]string{"namespace": key.Namespace, "name": key.Name})) > 0 {
				t.Error("something is left of a set that is gone")
			}
		})
	}
}

// TestRolloutMetrics: a roll-out is counted once when it is complete, and once when it stalls.
func TestRolloutMetrics(t *testing.T) {
	in := func(progress decide.Progress) []sample {
		return samplesOf(decide.Input{}, decide.Decision{Progress: progress})
	}
	since := time.Unix(1000, 0)
	idle, under := in(decide.Progress{Revision: "a", Complete: true}), in(decide.Progress{Revision: "b", Since: since})
	stands := in(decide.Progress{Revision: "b", Since: since, Failed: true})
	before := measured(t, map[string]string{})
	g := &setGauges{values: map[types.NamespacedName][]float64{}}
	for _, pass := range [][]sample{idle, under, under, stands, stands, under, idle, idle, under, idle} {
		g.record(types.NamespacedName{Name: "web"}, pass)
	}
	after := measured(t, map[string]string{})
	for result, want := range map[string]float64{"rollouts_total complete": 2, "rollouts_total stalled": 1} {
		if got := after[result] - before[result]; got != want {
			t.Errorf("%s: got %v, want %v", result, got, want)
		}
	}
}
