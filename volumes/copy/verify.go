package copy

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// changes reports whether unchanged content that a warm pass has read is not read again.
func (v view) changes() bool {
	return v.Asked.Verify == api.CopyVerifyChanged && !v.based()
}

// verify returns what the pass that is due reads at its end. A warm pass reads on behalf of the last one only.
// Its findings in a restored snapshot do not apply to the volume itself: the snapshot may lack data that were
// in memory. Once the sides have differed, nothing is trusted any more.
func (v view) verify() api.CopyVerify {
	switch {
	case v.changes() && (v.warming || v.Attempt.Passes == 0):
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
func (v view) trusts() *volumes.Reason {
	if v.Asked.Verify != api.CopyVerifyChanged {
		return nil
	}
	template := v.Template
	back := fmt.Sprintf("to read all of it: --volume %[1]s=copy,...,verify=full, or copy.verify: Full for claim template %[1]s in spec.volumes, which is the default", template)
	if why := v.untrusted(); why != "" {
		return &volumes.Reason{
			Reason:  volumes.ReasonCopyReadsAll,
			Message: fmt.Sprintf("copy.verify of claim template %s is Changed, but all of claim %s/%s may still be read while its ordinal is down: %s", template, v.Giver.Ref.Namespace, v.Giver.Ref.Name, why),
			Remedy:  "expect the downtime of verify: Full; the status shows what warm passes find, and the projection uses it",
		}
	}
	return &volumes.Reason{
		Reason: volumes.ReasonCopyTrusts,
		Message: fmt.Sprintf("copy.verify of claim template %s is Changed: while its ordinal is down, a file is not read again if its inode, size and times have not changed since a warm pass read it. "+
			"Disk damage since then, and writes that bypass the file system, are not detected. If either side's file system is not ext4, xfs or btrfs, all is read", template),
		Remedy: "keep it if the storage is reliable and an ordinal cannot be down for a full read; " + back,
	}
}

// untrusted returns why everything may be read; empty if no reason is known.
func (v view) untrusted() string {
	switch {
	case v.Asked.Warm == api.CopyWarmNone:
		return "copy.warm is None, and only a warm pass records which files need no second read"
	case v.Asked.Warm == api.CopyWarmSnapshot, v.based(), v.oncePod():
		return "its warm passes do not read the volume itself"
	}
	for _, h := range []volumes.Holding{v.Giver, v.Incoming} {
		switch system := h.Volume.FileSystem; {
		case !h.Volume.Found || trusted[system]:
		case system == "":
			return fmt.Sprintf("volume %s does not name its file system (spec.csi.fsType), and only ext4, xfs and btrfs are trusted", h.Volume.Name)
		default:
			return fmt.Sprintf("volume %s is %s, and only ext4, xfs and btrfs are trusted", h.Volume.Name, system)
		}
	}
	return ""
}
