package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// shop is a namespace with Migrations that no manager moves: the test writes their status.
type shop struct {
	*testing.T
	client    client.Client
	namespace string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	return shopNamed(t, "t-"+rand.String(8))
}

func shopNamed(t *testing.T, namespace string) *shop {
	t.Helper()
	c, err := harness.Client(harness.East())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return &shop{t, c, namespace}
}

// keep creates Migrations with their status, and writes heartbeats until the test ends.
func (s *shop) keep(migrations ...*api.Migration) {
	s.Helper()
	for _, m := range migrations {
		m.Namespace, m.ResourceVersion = s.namespace, ""
		status := m.Status
		if err := s.client.Create(s.Context(), m); err != nil {
			s.Fatal(err)
		}
		m.Status = status
		records.Beat(m, false, time.Now())
		if err := s.client.Status().Update(s.Context(), m); err != nil {
			s.Fatal(err)
		}
		if records.Beats(m, false) {
			go wait.UntilWithContext(s.Context(), s.beat(m.Name), records.HeartbeatEvery)
		}
	}
}

// beat returns a function that writes a heartbeat. It only logs an error, because the API server may be
// stopped.
func (s *shop) beat(name string) func(context.Context) {
	return func(ctx context.Context) {
		m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
		patch := fmt.Sprintf(`{"status":{"heartbeat":{"time":%q}}}`, time.Now().UTC().Format(time.RFC3339))
		if err := s.client.Status().Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil && ctx.Err() == nil {
			s.Logf("no heartbeat of %s: %v", name, err)
		}
	}
}

// change makes a Migration stall with another message.
func (s *shop) change(name, message string) {
	s.Helper()
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	stalled := metav1.Condition{Type: api.ConditionStalled, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: message, LastTransitionTime: metav1.Now()}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []metav1.Condition{stalled}}})
	if err == nil {
		err = s.client.Status().Patch(s.Context(), m, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		s.Fatal(err)
	}
}

func rightTo(verb, namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: verb, Group: api.GroupVersion.Group, Resource: "migrations", Namespace: namespace}
}
