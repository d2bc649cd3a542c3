package move

import (
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestV2Conflicts: each command succeeds although the API server answers with two conflicts, as it does while a move is
// running. The last command takes effect.
func TestV2Conflicts(t *testing.T) {
	east := apitest.Serve(t, map[schema.GroupVersion]map[string]string{corev1.SchemeGroupVersion: {"configmaps": "ConfigMap"}})
	store := records.ConfigMap{Client: east.Store, Namespace: "shop", Name: "web"}
	if err := store.Create(t.Context(), movetest.InFlight()); err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int32
	east.Before = func(r *http.Request) error {
		if r.Method == http.MethodPut && writes.Add(1)%3 != 0 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "sliceshift-web", nil)
		}
		return nil
	}
	c := command.NewCommon(newConsole().Environment)
	file := east.Kubeconfig(t)
	c.Config.KubeConfig = &file
	connection, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	at := &storedMigration{connection: connection, store: records.ConfigMap{Client: connection.Live(), Namespace: "shop", Name: "web"}}
	order := named{Common: c, name: "web"}
	for _, mode := range []api.Mode{api.ModePause, api.ModeRun, api.ModeRollback} {
		if err := order.steer(t.Context(), at, mode); err != nil {
			t.Fatal(err)
		}
	}
	m, err := store.Load(t.Context())
	if err != nil || m.Spec.Mode != api.ModeRollback || writes.Load() != 9 {
		t.Errorf("the mode is %s after %d writes: %v", m.Spec.Mode, writes.Load(), err)
	}
}
