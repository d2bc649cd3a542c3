package move

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// password returns the password in the Secret of the pods on a side.
func (v *move) password(at harness.Endpoint) string {
	v.T.Helper()
	secret, err := at.Client.CoreV1().Secrets(at.Namespace).Get(v.Ctx, "password", metav1.GetOptions{})
	v.Must(err)
	return string(secret.Data["password"])
}

// setPassword changes that password.
func (v *move) setPassword(ctx context.Context, at harness.Endpoint, value string) error {
	secrets := at.Client.CoreV1().Secrets(at.Namespace)
	secret, err := secrets.Get(ctx, "password", metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret.Data["password"] = []byte(value)
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// TestSecretChanges: a Secret that changes at the source during the move is copied again. With onChange: Stall
// the migration stalls instead and names the Secret, until the user selects Follow. No message shows either
// value.
func TestSecretChanges(t *testing.T) {
	t.Parallel()
	const was, is = "MarkedPasswordOfTheDatabase", "MarkedPasswordAfterwards"
	for name, policy := range map[string]api.ChangePolicy{"U-32: follow": api.ChangeFollow, "U-32: stall": api.ChangeStall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, needy, copying(func(d *api.DependenciesSpec) { d.OnChange = policy }))
			mover, said := v.Mover(), ""
			v.Drive(mover,
				harness.OnVerb(plan.ScaleUp, func() error { return v.setPassword(v.Ctx, v.Here(), is) }),
				func(_ *api.Migration, outcome engine.Outcome) error {
					hold := outcome.Decision.Hold
					if hold == nil || hold.Reason != api.ReasonDependencyChanged || said != "" {
						return nil
					}
					said = hold.Message + "; " + hold.Remedy
					if got := v.password(v.There()); got != was {
						t.Error("it was carried after all the same")
					}
					return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Dependencies.OnChange = api.ChangeFollow })
				})
			if stalls := policy == api.ChangeStall; stalls != (said != "") {
				t.Errorf("it stalled with %q", said)
			}
			for _, want := range []string{"Secret " + v.App.Namespace + "/password", "data.password: -(not shown) +(not shown)", "--on-change follow"} {
				if said != "" && !strings.Contains(said, want) {
					t.Errorf("it does not say %q: %s", want, said)
				}
			}
			for _, secret := range append(marks(was), marks(is)...) {
				if strings.Contains(said, secret) {
					t.Error("a Secret was shown")
				}
			}
			if got := v.password(v.There()); got != is {
				t.Error("it was not carried after")
			}
			v.ExpectMovedCleanly()
		})
	}
}
