package move

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/records"
)

// hostile contains control sequences: it sets the clipboard, clears the screen, and reverses the text direction.
const hostile = "x\x1b]52;c;ZXZpbA==\a\x1b[2J\r\u202e\u200b"

// TestK6Commands: no command prints a control sequence, whatever a record or an API server contains.
func TestK6Commands(t *testing.T) {
	m := movetest.Stalled()
	m.Annotations = map[string]string{records.DestinationNameAnnotationKey: hostile}
	m.Status.Source.Slice, m.Status.Fence.Holder = hostile, hostile
	m.Status.Warnings = []api.Warning{{Check: hostile, Reason: hostile, Object: hostile, Message: hostile, Remedy: hostile}}
	m.Status.Hooks = []api.HookRun{{Name: hostile, Job: hostile, Message: hostile, Point: api.HookBeforeOrdinal, State: api.HookFailed}}
	m.Status.Gates = []api.GateStatus{{Name: hostile, Message: hostile, State: api.GateFailed, Holds: true}}
	for i := range m.Status.Conditions {
		m.Status.Conditions[i].Message = hostile
	}
	m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: api.ConditionAheadHeld, Status: metav1.ConditionTrue, Reason: "Other", Message: hostile})
	for name, refuses := range map[string]error{
		"a record": nil,
		"an error": apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "sliceshift-web", errors.New(hostile)),
	} {
		for _, args := range []string{
			"status web", "status web -o json", "status web -o yaml", "status web --color always", "report web", "report web -o html", "report web -o json", "recover web --dry-run",
			"plan web --to-name x", "preflight web --to-name x", "run web --to-name x", "gates web", "hooks web", "pause web", "resume web", "budget web --to source",
		} {
			t.Run(name+"/"+args, func(t *testing.T) {
				east := serveRecord(t, m.DeepCopy())
				east.Before = func(*http.Request) error { return refuses }
				c := newConsole(append(strings.Fields(args), "--kubeconfig", east.Kubeconfig(t))...)
				c.Run(t)
				for _, said := range []string{c.Stdout.String(), c.Stderr.String()} {
					if printable.Coloured(said) != said {
						t.Errorf("a terminal acts upon %q", said)
					}
				}
				if c.Stdout.Len()+c.Stderr.Len() == 0 {
					t.Error("it says nothing")
				}
			})
		}
	}
}
