package stage

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Play is a move of members that prints its progress line by line.
type Play struct {
	Pair    *kind.Pair
	Members Members
	// Look receives every state of the Migration that Play waits for; may be nil.
	Look func(context.Context, *api.Migration)

	begin time.Time
	// last is the last line printed about the Migration.
	last string
}

// Begin returns a Play that begins now.
func Begin(pair *kind.Pair, members Members) *Play {
	return &Play{Pair: pair, Members: members, begin: time.Now()}
}

// Say prints a line with the seconds since the play began.
func (p *Play) Say(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// SetMode sets the mode of the Migration.
func (p *Play) SetMode(ctx context.Context, mode api.Mode) error {
	p.Say("mode: %s", mode)
	c, err := setup.Client(p.Pair.East)
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode))
	return c.Patch(ctx, &api.Migration{ObjectMeta: p.Members.Meta(p.Members.Name)}, patch)
}

// AwaitBack waits until everything is rolled back.
func (p *Play) AwaitBack(ctx context.Context) error {
	return p.Await(ctx, Completed(api.ReasonRolledBack))
}

// MoveAgain moves the application again after a rollback.
func (p *Play) MoveAgain(ctx context.Context) error {
	if err := p.SetMode(ctx, api.ModeRun); err != nil {
		return err
	}
	return p.Await(ctx, Completed(api.ReasonMoved))
}

// Stopped reports whether a member was stopped in east. The Migration's status does not show a member that is down
// only for a short time.
func (p *Play) Stopped(ctx context.Context, ordinal int32) bool {
	set, err := p.Pair.East.Client.AppsV1().StatefulSets(p.Members.Namespace).Get(ctx, p.Members.Name, metav1.GetOptions{})
	return err == nil && *set.Spec.Replicas <= ordinal // else it is read again: the API server may be down
}

// Await polls the Migration until reached holds, and prints its progress meanwhile.
func (p *Play) Await(ctx context.Context, reached func(*api.Migration) bool) error {
	c, err := setup.Client(p.Pair.East)
	if err != nil {
		return err
	}
	migration := &api.Migration{}
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKey{Namespace: p.Members.Namespace, Name: p.Members.Name}, migration); err != nil {
			return false, nil //nolint:nilerr // the API server may be away
		}
		if line := p.Members.state(migration); line != p.last {
			p.last = line
			p.Say("%s", line)
		}
		if p.Look != nil {
			p.Look(ctx, migration)
		}
		return reached(migration), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %+v", err, p.Members.state(migration), migration.Status.Conditions)
	}
	return nil
}
