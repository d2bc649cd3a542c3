package copy

import (
	"fmt"

	"github.com/sliceshift/sliceshift/volumes"
)

// holds records what the new volume held before anything was copied to it. The binder may have chosen an
// existing volume, and some provisioners give several claims one directory. A pass would remove everything
// there that the ordinal does not have.
func (v view) holds(what string) volumes.Verdict {
	next := v.c.Attempt
	next.Holds = cut(what)
	return volumes.Verdict{Attempt: &next}
}

// notNew waits for the user's decision on a volume that is not new. It is not written to, and its claim is not
// deleted, because its disk could be deleted with it. Once the user has deleted the claim, another attempt
// begins.
func (v view) notNew() volumes.Verdict {
	return volumes.First(v.removeAll, func() volumes.Verdict {
		in := v.c.Incoming
		if !in.Claim.Found || in.Claim.Terminating {
			return v.begin()
		}
		return blocked(volumes.ReasonCopyNotEmpty,
			fmt.Sprintf("claim %s/%s is not copied: volume %s, which claim %s/%s got for it, is not new: it has %q. Nothing was written there: a copy removes all that the ordinal does not have",
				v.Giver.Ref.Namespace, v.Giver.Ref.Name, in.Volume.Name, in.Ref.Namespace, in.Ref.Name, v.c.Attempt.Holds),
			fmt.Sprintf("look whose it is: %s. Name a class that makes new volumes (--storage-class %s=CLASS), or have that one give each claim a directory of its own; then let go of this one, whose disk is kept: %s",
				in.DescribeVolume(), v.Template, in.Delete()))
	})
}
