package clusters

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestOff: whatever is asked of a cluster that is off is an error, and never an absence.
func TestOff(t *testing.T) {
	off, err := Off("west")
	if err != nil {
		t.Fatal(err)
	}
	claim := func() *corev1.PersistentVolumeClaim {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Namespace, claim.Name = "shop", "data-web-0"
		return claim
	}
	for name, ask := range map[string]func(context.Context) error{
		"a read": func(ctx context.Context) error {
			return off.Live().Get(ctx, client.ObjectKeyFromObject(claim()), claim())
		},
		"a list":   func(ctx context.Context) error { return off.Live().List(ctx, &corev1.PodList{}) },
		"a create": func(ctx context.Context) error { return off.Live().Create(ctx, claim()) },
		"a patch": func(ctx context.Context) error {
			return off.Live().Patch(ctx, claim(), client.RawPatch("application/merge-patch+json", []byte("{}")))
		},
		"an update":    func(ctx context.Context) error { return off.Live().Update(ctx, claim()) },
		"a deletion":   func(ctx context.Context) error { return off.Live().Delete(ctx, claim()) },
		"its identity": func(ctx context.Context) error { _, err := off.ID(ctx); return err },
		"what it serves": func(ctx context.Context) error {
			_, err := off.Serves(ctx, &api.Migration{})
			return err
		},
		"a watch": func(ctx context.Context) error {
			_, _, err := off.Watch(ctx, Scope{Namespace: "shop"}, func() {})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := ask(t.Context())
			if err == nil || !strings.Contains(err.Error(), "cluster west is to be recovered from") || client.IgnoreNotFound(err) == nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
