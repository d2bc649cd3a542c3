package differ

import (
	"fmt"
	"strings"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Difference describes how a path differs between the source and the destination; empty if it does not. A file
// of the source without a digest changed while it was read, so its content is not compared.
func Difference(source, own *entry.Entry) string {
	if source.Kind != own.Kind {
		return fmt.Sprintf("a %s at the source, a %s at the destination", source.Kind, own.Kind)
	}
	if source.Kind == entry.Link {
		if source.Target != own.Target {
			return fmt.Sprintf("a hard link to %.200q at the source, to %.200q at the destination", source.Target, own.Target)
		}
		return ""
	}
	unsettled := source.Kind == entry.File && source.Digest == [32]byte{}
	var what []string
	add := func(differs bool, format string, args ...any) {
		if differs {
			what = append(what, fmt.Sprintf(format, args...))
		}
	}
	content := source.Kind.HasContent() && !unsettled
	add(content && source.Size != own.Size, "size %d and %d", source.Size, own.Size)
	add(content && source.Size == own.Size && source.Digest != own.Digest, "content")
	add(source.Mode != own.Mode, "mode %04o and %04o", source.Mode, own.Mode)
	add(source.UID != own.UID || source.GID != own.GID, "owner %d:%d and %d:%d", source.UID, source.GID, own.UID, own.GID)
	add(!unsettled && source.Modified != own.Modified, "modified at %d.%09d and %d.%09d", source.Modified.Sec, source.Modified.Nsec, own.Modified.Sec, own.Modified.Nsec)
	add(source.Device != own.Device, "device %#x and %#x", source.Device, own.Device)
	add(source.Target != own.Target, "target %.200q and %.200q", source.Target, own.Target)
	add(!entry.SameXattrs(source.Xattrs, own.Xattrs), "extended attributes (%s and %s)", names(source.Xattrs), names(own.Xattrs))
	return strings.Join(what, ", ")
}

func names(xattrs []entry.Xattr) string {
	if len(xattrs) == 0 {
		return "none"
	}
	list := make([]string, len(xattrs))
	for i, x := range xattrs {
		list[i] = x.Name
	}
	return strings.Join(list, " ")
}
