package world

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestUnreadSideIsNotAbsent: a side that could not be read is Unreachable, even if a part of it was read (I6).
func TestUnreadSideIsNotAbsent(t *testing.T) {
	f := &observed{endpoint: endpoint.Endpoint{Set: "web"}, err: context.DeadlineExceeded, set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
	side := sideOf(&api.Migration{}, f)
	if side.Reach != plan.Unreachable || side.Set.Presence != plan.Unreachable || side.ReachError == "" {
		t.Errorf("got %+v", side)
	}
	if side := sideOf(&api.Migration{}, &observed{endpoint: endpoint.Endpoint{Set: "web"}}); side.Reach != plan.Seen || side.Set.Presence != plan.Absent {
		t.Errorf("got %+v", side)
	}
}
