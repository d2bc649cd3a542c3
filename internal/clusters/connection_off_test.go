package clusters

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestOff: every request to a cluster that is off is an error, and never a NotFound.
func TestOff(t *testing.T) {
	off, err := Off("west")
	if err != nil {
		t.Fatal(err)
	}
	asks := everyWay(off)
	asks["a watch"] = func(ctx context.Context) error {
		_, _, err := off.Watch(ctx, Scope{Namespace: "shop"}, Subscription{Set: "web", Notify: func() {}})
		return err
	}
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			err := ask(t.Context())
			if err == nil || !strings.Contains(err.Error(), "cluster west is to be recovered from") || client.IgnoreNotFound(err) == nil {
				t.Errorf("got %v", err)
			}
		})
	}
}
