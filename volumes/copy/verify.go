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

// later reports whether the volume that the ordinal leaves is read whole only after the ordinal has started. By default
// that is so if reading both sides whole does not fit into the downtime budget. It is judged without the changes since
// the last warm pass, so that it stays the same while the ordinal is stopped. An ordinal that is copied as a whole while
// it is down gains nothing by it.
func (v view) later() bool {
	done := v.Attempt.Warm
	switch {
	case v.Asked.Verify != "":
		return v.Asked.Verify == api.CopyVerifyLater
	case v.Down, v.Asked.Warm == api.CopyWarmNone, done.Passes == 0 && done.Refused != "" && !v.chooses():
		return false
	case done.Passes == 0: // nothing is measured yet
		return v.Outage.WithoutCopy().Lasts()+lasts(float64(v.Asked.Needed), fast) > v.budget()
	}
	return v.Outage.WithoutCopy().Lasts()+lasts(float64(done.Bytes), readRate(done)) > v.budget()
}

// verify returns what the pass that is due reads at its end. A warm pass reads on behalf of the last one only.
// With Changed, its findings in a restored snapshot do not apply to the volume itself: the snapshot may lack data that
// were in memory. With Later, they are of the copy alone, and the sender of a snapshot names no copy, so that nothing
// that it has seen counts for the volume. Once the sides have differed, nothing is trusted any more.
func (v view) verify() api.CopyVerify {
	switch trusts := v.warming || v.Attempt.Passes == 0; {
	case v.changes() && trusts:
		return api.CopyVerifyChanged
	case v.later() && trusts:
		return api.CopyVerifyLater
	case v.warming:
		return ""
	}
	return api.CopyVerifyFull
}

// keeps reports whether results are kept between passes.
func keeps(verify api.CopyVerify) bool {
	return verify == api.CopyVerifyChanged || verify == api.CopyVerifyLater
}

// enough reports whether a last pass that was verified in a way is enough for what the user requests now.
func (v view) enough(verify api.CopyVerify) bool {
	return !keeps(verify) || verify == v.Asked.Verify || verify == api.CopyVerifyLater && v.Asked.Verify == ""
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
	back := fmt.Sprintf("to read all of it: --volume %[1]s=copy,...,verify=full, or copy.verify: Full for claim template %[1]s in spec.volumes", template)
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

// proves returns a warning about a proof after the start, if one is planned.
func (v view) proves() *volumes.Reason {
	if !v.later() || v.Asked.Verify == "" && (!v.automatic() || v.Attempt.Warm.Passes > 0) {
		return nil
	}
	why := fmt.Sprintf("copy.verify of claim template %s is Later", v.Template)
	if v.Asked.Verify == "" {
		why = fmt.Sprintf("claim %s/%s holds up to %s, and reading both sides of that again does not fit into copy.downtimeBudget of %s", v.Giver.Ref.Namespace, v.Giver.Ref.Name, size(v.Asked.Needed), v.budget())
	}
	return &volumes.Reason{
		Reason:  volumes.ReasonCopyProvesLater,
		Message: why + ": while its ordinal is down, only the last changes are read back at the destination. After the start the volume that it has left is read whole and compared. If the two differ, the migration stalls and the ordinal runs on its copy; all that it has written by then is on the copy alone",
		Remedy:  fmt.Sprintf("keep it if an ordinal cannot be down for a full read; to prove everything before the start: --volume %[1]s=copy,...,verify=full, or copy.verify: Full for claim template %[1]s in spec.volumes, with a copy.downtimeBudget that allows it", v.Template),
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
