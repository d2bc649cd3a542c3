// Package chart draws an SVG timeline of where each ordinal of a StatefulSet is, how many are available, and
// when a move was stopped. It is pure: a value in, an image out.
package chart

import (
	"time"
)

// Place is the location of an ordinal.
type Place string

// The places.
const (
	AtSource      Place = "source"
	OnItsWay      Place = "away"
	AtDestination Place = "destination"
	// Expected is the time in which an application is expected to move.
	Expected Place = "expected"
)

// Chart is the contents of a timeline.
type Chart struct {
	// Title and Description describe the image in words for screen readers.
	Title, Description string
	// Source and Destination are the names of the sides. Away is the text for an ordinal between them; the
	// default is "on its way".
	Source, Destination, Away string
	// Begin and End bound the drawn time. Relative makes the axis count from Begin.
	Begin, End time.Time
	Relative   bool
	// Lanes are the ordinals, from the top.
	Lanes []Lane
	// Replicas is the number of replicas of the application, and Budget how many of them may be unavailable. Without
	// replicas, as where each lane is an application, the available ones are not drawn.
	Replicas, Budget int32
	// Available is the number of available replicas over time, in order.
	Available []Level
	// Stops are the times without progress.
	Stops []Stop
}

// Lane is one ordinal.
type Lane struct {
	Label string
	// Mark is the reason for which the lane is marked, as its tooltip; empty if it is not.
	Mark  string
	Spans []Span
	// Planned is the planned time, which is drawn above the spans; nil if there is none.
	Planned *Span
}

// Span is the place of an ordinal for a time.
type Span struct {
	From, To time.Time
	Place    Place
	// Text is the tooltip.
	Text string
}

// Level is a value from a time on.
type Level struct {
	From  time.Time
	Value int32
}

// Stop is a time without progress.
type Stop struct {
	From, To time.Time
	Label    string
}
