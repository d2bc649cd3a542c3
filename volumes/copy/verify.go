package copy

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// changes reports whether unchanged content that a warm pass has read is not read again.
func (v view) changes() bool {
	return v.c.Asked.Verify == api.CopyVerifyChanged && !v.based()
}

// verify returns what the pass that is due reads at its end. A warm pass reads on behalf of the last one only.
// Its findings in a restored snapshot do not apply to the volume itself: the snapshot may lack data that were
// in memory. Once the sides have differed, nothing is trusted any more.
func (v view) verify() api.CopyVerify {
	switch {
	case v.changes() && (v.warming || v.c.Attempt.Passes == 0):
		return api.CopyVerifyChanged
	case v.warming:
		return ""
	}
	return api.CopyVerifyFull
}

// trusted lists the file systems whose change times reflect every write, as the mover judges them. A driver
// without a requested file system chooses one of its own.
var trusted = map[string]bool{"ext4": true, "xfs": true, "btrfs": true}

// trusts returns a warning about unchanged content that is not read again, if that is requested.
func (v view) trusts() *volumes.Problem {
	if v.c.Asked.Verify != api.CopyVerifyChanged {
		return nil
	}
	template := v.Template
	back := fmt.Sprintf("to have all of it read: --volume %[1]s=copy,...,verify=full, or copy.verify: Full for claim template %[1]s in spec.volumes, which is the default", template)
	if why := v.untrusted(); why != "" {
		return &volumes.Problem{
			Reason:  volumes.ReasonCopyReadsAll,
			Message: fmt.Sprintf("copy.verify of claim template %s is Changed, and all of claim %s/%s may be read all the same while its ordinal is down: %s", template, v.Giver.Ref.Namespace, v.Giver.Ref.Name, why),
			Remedy:  "reckon with a stop that is as long as with verify: Full; what warm passes find is in the status, and counts for what is projected",
		}
	}
	return &volumes.Problem{
		Reason: volumes.ReasonCopyTrusts,
		Message: fmt.Sprintf("copy.verify of claim template %s is Changed: once its ordinal is down, files are not read again whose inode, size and times are the same as when a warm pass read them. Of these it is trusted that nothing has changed: "+
			"what damages a disk meanwhile, or writes past the file system, is not seen. Where the file system of either side is none of ext4, xfs and btrfs, all is read", template),
		Remedy: "leave it so where the storage is sound, and an ordinal may not be down for as long as reading all of it takes; " + back,
	}
}

// untrusted returns why everything may be read; empty if no reason is known.
func (v view) untrusted() string {
	switch {
	case v.c.Asked.Warm == api.CopyWarmNone:
		return "copy.warm is None, and only a warm pass reads what need not be read again"
	case v.c.Asked.Warm == api.CopyWarmSnapshot, v.based(), v.oncePod():
		return "its warm passes do not read the volume itself"
	}
	for _, h := range []volumes.Holding{v.Giver, v.c.Incoming} {
		switch system := h.Volume.FileSystem; {
		case !h.Volume.Found || trusted[system]:
		case system == "":
			return fmt.Sprintf("volume %s does not say which file system it has (spec.csi.fsType), and only ext4, xfs and btrfs are trusted", h.Volume.Name)
		default:
			return fmt.Sprintf("volume %s is %s, and only ext4, xfs and btrfs are trusted", h.Volume.Name, system)
		}
	}
	return ""
}
