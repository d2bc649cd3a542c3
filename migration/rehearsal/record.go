package rehearsal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Record is the state of a rehearsal. It is stored before the first object is created, so that a later process
// finds and deletes what a crash has left.
type Record struct {
	// ID identifies the rehearsal. No other one has it, and every object of the rehearsal is marked with it.
	ID types.UID `json:"id"`
	// Source and Destination are the two sides of the move that is rehearsed.
	Source      Place `json:"source"`
	Destination Place `json:"destination"`
	// Namespace is where the pods start. NamespaceUID is known once it was created.
	Namespace    string           `json:"namespace"`
	NamespaceUID types.UID        `json:"namespaceUID,omitempty"`
	Began        metav1.MicroTime `json:"began"`
	// Reached lists the forbidden addresses that a pod has reached without a NetworkPolicy.
	Reached []string `json:"reached,omitempty"`
	// Isolation is the proof; nil until then.
	Isolation *Isolation `json:"isolation,omitempty"`
	// Copies are the attempts to copy volumes, by the name of the claim that is filled.
	Copies map[string]api.CopyAttempt `json:"copies,omitempty"`
	// Cloned is when all snapshots were ready and all copies made. No mover is created after that.
	Cloned *metav1.MicroTime `json:"cloned,omitempty"`
	// SetUID is that of the StatefulSet; empty until it was created.
	SetUID types.UID `json:"setUID,omitempty"`
	// End is how the rehearsal ended; nil until then. The objects are deleted after that.
	End *End `json:"end,omitempty"`
	// Keep is true if the objects stay, and Cleaned when they are deleted.
	Keep    bool `json:"keep,omitempty"`
	Cleaned bool `json:"cleaned,omitempty"`
	// Result is that of this rehearsal; nil until it has ended well. Before is that of the last one that has.
	Result *Result `json:"result,omitempty"`
	Before *Result `json:"before,omitempty"`
}

// Place is one side of the move.
type Place struct {
	// Cluster is the UID of the cluster's namespace kube-system.
	Cluster     types.UID `json:"cluster"`
	Namespace   string    `json:"namespace"`
	StatefulSet string    `json:"statefulSet"`
	// APIVersion is that of the StatefulSet.
	APIVersion string `json:"apiVersion"`
}

// Isolation is the proof that pods of the namespace do not reach forbidden addresses.
type Isolation struct {
	// Denied lists addresses that were reached without the NetworkPolicy, and not behind it.
	Denied []string `json:"denied"`
	// Policy and Generation identify the NetworkPolicy that was proven.
	Policy     types.UID        `json:"policy"`
	Generation int64            `json:"generation"`
	Time       metav1.MicroTime `json:"time"`
}

// Outcome is how a rehearsal ended.
type Outcome string

// The outcomes.
const (
	// Rehearsed means that all pods were Ready and no gate has failed.
	Rehearsed Outcome = "Rehearsed"
	// Refused means that the rehearsal would not be safe. No pod of the application was started.
	Refused Outcome = "Refused"
	// Failed means that the pods did not become Ready, that a gate has failed, or that something has interfered.
	Failed Outcome = "Failed"
	// Interrupted means that the user or a crash has ended it.
	Interrupted Outcome = "Interrupted"
)

// Reasons of an end that commands and tests refer to.
const (
	ReasonInterrupted = "Interrupted"
	ReasonNotIsolated = "NotIsolated"
	ReasonNotProven   = "IsolationNotProven"
	ReasonNotReady    = "PodNotReady"
	ReasonGateFailed  = "GateFailed"
	ReasonSourceSlow  = "SourceSlow"
	ReasonNotAdmitted = "NotAdmitted"
	ReasonCopyLost    = "CopyLost"
)

// End is how a rehearsal ended, and why.
type End struct {
	Outcome Outcome          `json:"outcome"`
	Reason  string           `json:"reason,omitempty"`
	Message string           `json:"message,omitempty"`
	Remedy  string           `json:"remedy,omitempty"`
	Time    metav1.MicroTime `json:"time"`
}

func refused(reason, message, remedy string) End {
	return End{Outcome: Refused, Reason: reason, Message: message, Remedy: remedy}
}

func failed(reason, message, remedy string) End {
	return End{Outcome: Failed, Reason: reason, Message: message, Remedy: remedy}
}

func microTime(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(t.UTC()) }

// Begin returns the record of a rehearsal that begins, after another one of the same StatefulSet or none.
func Begin(id types.UID, source, destination Place, now time.Time, before *Record) Record {
	r := Record{ID: id, Source: source, Destination: destination, Began: microTime(now)}
	r.Namespace = namespaceOf(id, source.StatefulSet)
	if before != nil {
		r.Before = before.Known()
	}
	return r
}

// Expect returns an error unless a stored record is one that Begin returns for this StatefulSet. Users of its namespace
// may be able to write such a record, and the end of a rehearsal deletes the volumes of the namespace that it names.
func (r Record) Expect(namespace, set string) error {
	switch {
	case r.ID == "":
		return errors.New("it has no ID")
	case r.Source.Namespace != namespace || r.Source.StatefulSet != set:
		return fmt.Errorf("its source is %q", r.Source.Namespace+"/"+r.Source.StatefulSet)
	case r.Namespace != namespaceOf(r.ID, set):
		return fmt.Errorf("namespace %q is not that of the rehearsal with its ID", r.Namespace)
	case r.Destination.Cluster == "":
		return errors.New("it does not name the destination's cluster")
	}
	return nil
}

// Fence is the fence of the movers. A rehearsal is never continued by another process, so it has one epoch.
func (r Record) Fence() string { return string(r.ID) + ".1" }

// Known returns the latest result: that of this rehearsal, or that of the one before.
func (r Record) Known() *Result {
	if r.Result != nil && r.Result.Outcome == Rehearsed {
		return r.Result
	}
	return r.Before
}

// Kept reports whether the objects of a rehearsal that has ended stay, because the user wants to look at them. Pods that
// are not isolated, or that slow the source down, never stay.
func (r Record) Kept() bool {
	if !r.Keep || r.End == nil || r.Cleaned {
		return false
	}
	switch r.End.Reason {
	case ReasonNotIsolated, ReasonSourceSlow:
		return false
	}
	return r.End.Outcome == Rehearsed || r.End.Outcome == Failed
}

// Open reports whether objects of the rehearsal may exist.
func (r Record) Open() bool { return !r.Cleaned }

// namespaceOf returns the name of the namespace of a rehearsal. It is a label, so it has at most 63 characters.
func namespaceOf(id types.UID, set string) string {
	const longest, digits = 40, 10
	sum := sha256.Sum256([]byte(id))
	name := strings.Trim(strings.ReplaceAll(set[:min(len(set), longest)], ".", "-"), "-")
	return "rehearsal-" + name + "-" + hex.EncodeToString(sum[:])[:digits]
}
