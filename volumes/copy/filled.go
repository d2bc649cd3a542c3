package copy

import (
	"fmt"

	"github.com/sliceshift/sliceshift/volumes"
)

// holds records what the new volume held before anything was copied to it. The binder may have chosen an
// existing volume, and some provisioners give several claims one directory. A pass would remove everything
// there that the ordinal does not have.
func (v view) holds(what string) volumes.Verdict {
	next := v.Attempt
	next.Holds = cut(what)
	return volumes.Verdict{Attempt: &next}
}

// notNew waits for the user's decision on a volume that is not new. It is not written to, and its claim is not
// deleted, because its disk could be deleted with it. Once the user has deleted the claim, another attempt
// begins.
func (v view) notNew() volumes.Verdict {
	return volumes.First(v.removeAll, func() volumes.Verdict {
		in := v.Incoming
		if !in.Claim.Found || in.Claim.Terminating {
			return v.begin()
		}
		return blocked(volumes.ReasonCopyNotEmpty,
			fmt.Sprintf("claim %s/%s is not copied: volume %s, which claim %s/%s got for it, is not empty and has %q. Nothing was written there, because a copy deletes all that the source does not have",
				v.Giver.Ref.Namespace, v.Giver.Ref.Name, in.Volume.Name, in.Ref.Namespace, in.Ref.Name, v.Attempt.Holds),
			fmt.Sprintf("find its owner: %s. Name a class that creates empty volumes (--storage-class %s=CLASS), or configure this one to give each claim its own directory; then delete this claim, whose disk is kept: %s",
				in.DescribeVolume(), v.Template, in.Delete()))
	})
}
