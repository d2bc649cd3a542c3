package copy

import (
	"fmt"

	"github.com/sliceshift/sliceshift/volumes"
)

// holds records what the new volume had before anything was copied to it: the binder may have chosen one that was there, and
// some provisioners give several claims one directory. A pass would remove all of it that the ordinal does not have.
func (v view) holds(what string) volumes.Verdict {
	next := v.c.Attempt
	next.Holds = cut(what)
	return volumes.Verdict{Attempt: &next}
}

// notNew waits until somebody has looked at a volume that is not new. It is not written to, and its claim is not removed, for its
// disk could go with it: once a person has done that, another attempt begins.
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
