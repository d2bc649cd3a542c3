package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

func remote(mode api.Mode, begun bool) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	m.Spec.Source.Name, m.Spec.Mode, m.Spec.ServiceAccountName = "web", mode, "mover"
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	if begun {
		m.Status.Baseline = &api.Baseline{Replicas: 3, SourceCluster: "cluster-east", DestinationCluster: "cluster-west"}
	}
	return m
}

// TestConnectWithoutTheDestination (G15): a recovery does not need the destination's Secret. Every other mode
// does, and a change of the mode reconnects.
func TestConnectWithoutTheDestination(t *testing.T) {
	connector := &Connector{
		Secrets: clustertest.New(),
		Local:   &rest.Config{Host: "https://east.invalid:1"}, Pool: clusters.NewPool(1 << 20),
	}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want bool
	}{
		"recover":                   {remote(api.ModeRecover, true), true},
		"recover what is not begun": {remote(api.ModeRecover, false), false},
		"run":                       {remote(api.ModeRun, true), false},
		"roll back":                 {remote(api.ModeRollback, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			from, to, err := connector.open(t.Context(), tc.m)
			if got := err == nil; got != tc.want {
				t.Fatalf("opened: %t (%v), want %t", got, err, tc.want)
			}
			if err != nil {
				return
			}
			defer from.release()
			defer to.release()
			if to.connection == from.connection || to.connection.Name() != "west" {
				t.Errorf("the destination is %s", to.connection.Name())
			}
			if err := to.connection.Live().List(t.Context(), &corev1.PodList{}); err == nil {
				t.Error("the destination answers")
			}
			if _, key, err := connector.keys(t.Context(), tc.m); err != nil || key != to.key {
				t.Errorf("key %q instead of %q: %v", key, to.key, err)
			}
		})
	}
}

// TestEngineWithoutTheDestination (G15): in mode Recover no request is sent to a destination that is off. In
// another mode it counts as unanswered, and nothing is decided.
func TestEngineWithoutTheDestination(t *testing.T) {
	off, err := clusters.Off("west")
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[api.Mode]plan.Presence{api.ModeRecover: plan.Absent, api.ModeRun: plan.Unreachable, api.ModeRollback: plan.Unreachable, api.ModePause: plan.Unreachable} {
		t.Run(string(mode), func(t *testing.T) {
			m := remote(mode, true)
			engine := NewEngine(m, Options{Source: off, Destination: off, Holder: "test"})
			engine.clusters.links.pair.Source.Live = clustertest.New()
			engine.clusters.links.pair.Source.ID = "cluster-east"
			s := engine.clusters.Snapshot(t.Context(), m, planner.Reads{})
			if s.Destination.Set.Presence != want || s.Destination.Lost != (mode == api.ModeRecover) {
				t.Errorf("got %v, lost %t", s.Destination.Set.Presence, s.Destination.Lost)
			}
			decision := planner.Plan(s)
			if decision.Effect != nil || decision.Record != nil || decision.Done != "" {
				t.Errorf("it goes on: %+v", decision)
			}
			if mode == api.ModeRecover && decision.Hold.Reason != api.ReasonRecoveryUnconfirmed || mode != api.ModeRecover && decision.Hold.Reason != api.ReasonClusterUnreachable {
				t.Errorf("got %+v", decision.Hold)
			}
		})
	}
}
