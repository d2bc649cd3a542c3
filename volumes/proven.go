package volumes

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// proven is done once the mark that was written on a shared volume over the giver's connection is read over the
// taker's. Then both connections lead to one cluster. Equal UIDs of their namespaces kube-system prove nothing:
// a clone has the same UID, and an API server may report any.
func (p Pair) proven() Verdict {
	there := p.Taker.Volume
	switch {
	case !there.Found || there.UID == "" || there.UID != p.Giver.Volume.UID:
		return Held(p.notOneCluster("has another volume of that name, or none"))
	case !p.secured(p.Taker):
		return p.awaitsMark()
	}
	return Verdict{}
}

// awaitsMark waits until the taker's side shows the mark that was written over the giver's connection.
func (p Pair) awaitsMark() Verdict {
	hold := p.notOneCluster("does not show the mark that was written on it")
	hold.Stalled = false
	return Verdict{Hold: hold}
}

func (p Pair) notOneCluster(what string) *Reason {
	name := p.Giver.Volume.Name
	return Stalled(
		api.ReasonClusterNotProven,
		fmt.Sprintf("volume %s: both sides give the same UID for namespace kube-system, and the side of claim %s/%s %s: they are not known to be one cluster",
			name, p.Taker.Ref.Namespace, p.Taker.Ref.Name, what),
		fmt.Sprintf("compare both (%s; %s); if both lead to one cluster, use the same name for both sides (one context, or one Secret); if one cluster was cloned from the other, move nothing between them, and return the moved ordinals: set spec.mode to Rollback",
			p.Giver.Command("get pv %s -o yaml", name), p.Taker.Command("get pv %s -o yaml", name)),
	)
}
