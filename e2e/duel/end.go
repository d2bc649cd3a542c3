package duel

import (
	"context"
	"fmt"
)

// end mends all that is wrong, and compares the sides once all is well, and once more when
// the sets are deleted.
func (p *play) end(ctx context.Context) error {
	p.begin()
	p.apart = true // what is mended first may be acted on before the rest is
	for _, kind := range []string{stepLetGo, stepReady, stepRelease} {
		if err := p.both(func(s *side) error { s.unbound = false; return s.mend(ctx, kind) }); err != nil {
			return err
		}
	}
	p.wish.Replicas, p.wish.MinReadySeconds, p.wish.UpdateStrategy = new(int32(3)), 0, rolling(0, nil)
	p.wish.newImage("")
	err := p.both(func(s *side) error { return s.write(ctx, p.wish) })
	if err == nil {
		err = p.allow(ctx)
	}
	if err == nil {
		err = p.settle(ctx)
	}
	if err != nil {
		return fmt.Errorf("when all is mended: %w", err)
	}
	if st := p.ours.last.status; st.AvailableReplicas != 3 || st.UpdatedReplicas != 3 {
		return fmt.Errorf("the sides are equal and not complete:\n%s", p)
	}
	p.begin()
	p.apart = true // the garbage collector deletes pods in any order
	if err := p.both(func(s *side) error { return s.deleteSet(ctx) }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return fmt.Errorf("when the set is deleted: %w", err)
	}
	return nil
}
