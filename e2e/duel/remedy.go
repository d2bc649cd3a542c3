package duel

import (
	"context"
	"strings"
)

// remedy does by hand what ours does by itself, so that the sides can go on together. It
// says whether there was anything to do.
//
// apps/v1 never replaces a pod that is not Ready and has another revision than the template:
// its documentation asks for it to be deleted by hand (kubernetes#67250). Ours has done so.
func (p *play) remedy(ctx context.Context) (helped bool, err error) {
	if helped, err = p.remedyLeaving(ctx); helped || err != nil || p.wish.onDelete() {
		return helped, err
	}
	for ordinal, theirs := range p.native.last.pods {
		mine, has := p.ours.last.pods[ordinal]
		replaced := !has || mine.updated || mine.terminating
		if !p.wish.inScope(ordinal) || theirs.updated || theirs.ready || theirs.terminating || !replaced {
			continue
		}
		if err := p.native.delete(ctx, theirs.pod); err != nil {
			return false, err
		}
		helped, p.apart = true, true
	}
	if helped {
		p.tally.use(map[string]bool{explainedBroken: true})
	}
	return helped, nil
}

// remedyLeaving is for pods that leave: in OrderedReady apps/v1 neither deletes nor updates any
// other pod while two of them are not Ready. Ours has deleted the first one that is to go.
func (p *play) remedyLeaving(ctx context.Context) (helped bool, err error) {
	m := p.moment(nil)
	ordinal, stuck := m.leavingStuck()
	mine, has := p.ours.last.pods[ordinal]
	if !stuck || has && !mine.terminating {
		return false, nil
	}
	if err := p.native.delete(ctx, p.native.last.pods[ordinal].pod); err != nil {
		return false, err
	}
	p.tally.use(map[string]bool{explainedLeaving: true})
	p.apart = true
	return true, nil
}

// backsOff says whether ours waits before it replaces a pod that has ended, where apps/v1 does
// not. They come to the same end.
func (p *play) backsOff() bool {
	if !strings.Contains(p.ours.last.held, "another one is made after a while") {
		return false
	}
	if !p.backedOff {
		p.tally.use(map[string]bool{explainedBackoff: true})
	}
	p.backedOff = true
	return true
}
