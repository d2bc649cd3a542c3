package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// volumeHelp is the help of --volume.
const volumeHelp = "how the data of a claim template moves, as `TEMPLATE=METHOD` (repeatable): rebind; or empty,WORD,... with what you know of the application: " + emptyWords +
	"; or copy,image=IMAGE,... with more of " + copyWords + "; or snapshot,... with " + snapshotWords

const (
	emptyWords = "fills-from-peers, ready-when-filled, returns-to-kept"
	copyWords  = "size=SIZE, transport=auto|direct|relay, service=cluster-ip|node-port|load-balancer|export, address=HOST:PORT, bandwidth=BYTES, run-as=USER[:GROUP], warm=auto|mount|snapshot|none, downtime=DURATION, limit=DURATION, cutover=automatic|manual|now|2026-12-01T02:00:00Z, prefetch=0..8, verify=full|changed, devices=refuse|allow"

	snapshotWords = "class=VOLUMESNAPSHOTCLASS, size=SIZE"
)

// mostPrefetch is also the limit of copy.prefetch in the resource definition. Pods and disks of all prefetched ordinals
// exist at the same time.
const mostPrefetch = 8

// methodWords maps the words of --volume to methods.
var methodWords = map[string]api.VolumeMethod{"rebind": api.MethodRebind, "empty": api.MethodEmpty, "copy": api.MethodCopy, "snapshot": api.MethodSnapshot}

// readVolume parses one --volume into the spec of its claim template.
func readVolume(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, _ := strings.Cut(text, "=")
	words := strings.Split(rest, ",")
	method, known := methodWords[words[0]]
	if template == "" || !known {
		return command.Usagef("--%s must be TEMPLATE=METHOD, with method rebind, empty, copy or snapshot, not %q", Volume, text)
	}
	asked := of(template)
	asked.Method = method
	for _, word := range words[1:] {
		switch {
		case method == api.MethodEmpty && readEmpty(word, &asked.Empty):
		case method == api.MethodCopy && readCopy(word, &asked.Copy):
		case method == api.MethodSnapshot && readSnapshot(word, &asked.Snapshot):
		default:
			return command.Usagef("--%s %s: %s", Volume, text, wrongWord(words[0], word))
		}
	}
	return nil
}

// wordsOf lists the settings of each method.
var wordsOf = map[string]string{"empty": emptyWords, "copy": "image=IMAGE, " + copyWords, "snapshot": snapshotWords}

// wrongWord returns why a setting is invalid for a method: it is unknown, or its value is invalid.
func wrongWord(method, word string) string {
	known := wordsOf[method]
	if known == "" {
		return fmt.Sprintf("method %s has no settings, and %q was given", method, word)
	}
	key, _, _ := strings.Cut(word, "=")
	for form := range strings.SplitSeq(known, ", ") {
		if strings.HasPrefix(form, key+"=") {
			return fmt.Sprintf("%q does not have the form %s", word, form)
		}
	}
	return fmt.Sprintf("method %s has no setting %q, only: %s", method, word, known)
}

// knownModes lists the access modes of claims.
var knownModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod}

// wrongModes returns why new volumes of a claim template cannot have the access modes, with the rules of the resource
// definition. It is empty if they can.
func wrongModes(asked api.VolumeSpec) string {
	modes := asked.AccessModes
	switch {
	case len(modes) == 0:
		return ""
	case asked.Method == api.MethodRebind:
		return "they are for new volumes, and method rebind creates none: name another method with --" + Volume
	case len(modes) == 1 && modes[0] == corev1.ReadOnlyMany:
		return "at least one must let pods write"
	case len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod):
		return "ReadWriteOncePod must be the only mode"
	}
	return ""
}

// readEmpty parses a setting of method Empty and reports whether it is known.
func readEmpty(word string, said *api.EmptySpec) bool {
	switch word {
	case "fills-from-peers":
		said.FillsFromPeers = true
	case "ready-when-filled":
		said.ReadyWhenFilled = true
	case "returns-to-kept":
		said.ReturnsToKept = true
	default:
		return false
	}
	return true
}

// serviceWords maps words to types of a receiver's Service.
var serviceWords = map[string]corev1.ServiceType{
	"cluster-ip": corev1.ServiceTypeClusterIP, "node-port": corev1.ServiceTypeNodePort, "load-balancer": corev1.ServiceTypeLoadBalancer, "export": api.ServiceTypeExport,
}

// transportWords maps words to the transports between two movers.
var transportWords = map[string]api.CopyTransport{"auto": api.TransportAuto, "direct": api.TransportDirect, "relay": api.TransportRelay}

// warmWords maps words to the modes of passes while an ordinal runs.
var warmWords = map[string]api.CopyWarmMode{"auto": api.CopyWarmAuto, "mount": api.CopyWarmMount, "snapshot": api.CopyWarmSnapshot, "none": api.CopyWarmNone}

// cutoverWords maps words to when a copied ordinal is stopped.
var cutoverWords = map[string]api.CopyCutover{"automatic": api.CutoverAutomatic, "manual": api.CutoverManual, "now": api.CutoverNow}

// verifyWords maps words to which data of the two sides is compared once an ordinal is down.
var verifyWords = map[string]api.CopyVerify{"full": api.CopyVerifyFull, "changed": api.CopyVerifyChanged}

// deviceWords maps words to whether device nodes are copied.
var deviceWords = map[string]bool{"refuse": false, "allow": true}

// readCopy parses a setting of method Copy and reports whether it is valid.
func readCopy(word string, asked *api.CopySpec) (read bool) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "image":
		asked.Image = value
	case "size":
		asked.Size = quantity(value)
		return asked.Size != nil
	case "transport":
		asked.Transport, read = transportWords[value]
		return read
	case "service":
		asked.ServiceType, read = serviceWords[value]
		return read
	case "address":
		asked.Address = value
	case "bandwidth":
		asked.Bandwidth = quantity(value)
		return asked.Bandwidth != nil
	case "warm":
		asked.Warm, read = warmWords[value]
		return read
	case "downtime":
		asked.DowntimeBudget = duration(value)
		return asked.DowntimeBudget != nil
	case "limit":
		asked.DowntimeLimit = duration(value)
		return asked.DowntimeLimit != nil
	case "verify":
		asked.Verify, read = verifyWords[value]
		return read
	case "devices":
		asked.Devices, read = deviceWords[value]
		return read
	case "cutover":
		return readCutover(value, asked)
	case "prefetch":
		ordinals, err := strconv.ParseInt(value, 10, 32)
		asked.Prefetch = int32(ordinals)
		return err == nil && 0 <= ordinals && ordinals <= mostPrefetch
	case "run-as":
		user, group, both := strings.Cut(value, ":")
		if asked.RunAsUser = number(user); both {
			asked.RunAsGroup = number(group)
		}
		return asked.RunAsUser != nil && (!both || asked.RunAsGroup != nil)
	default:
		return false
	}
	return value != ""
}

// readCutover parses a cutover word or a time (RFC 3339).
func readCutover(value string, asked *api.CopySpec) (read bool) {
	if asked.Cutover, read = cutoverWords[value]; read {
		return true
	}
	at, err := time.Parse(time.RFC3339, value)
	asked.Cutover, asked.CutoverAt = api.CutoverAt, new(metav1.NewTime(at))
	return err == nil
}

// readSnapshot parses a setting of method Snapshot and reports whether it is valid.
func readSnapshot(word string, asked *api.SnapshotSpec) bool {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "class":
		asked.ClassName = value
		return value != ""
	case "size":
		asked.Size = quantity(value)
		return asked.Size != nil
	default:
		return false
	}
}

// quantity parses a quantity. It returns nil if the quantity is invalid or not above 0.
func quantity(text string) *resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return nil
	}
	return &q
}

// duration parses a duration. It returns nil if the duration is invalid or not above 0.
func duration(text string) *metav1.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

func number(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
