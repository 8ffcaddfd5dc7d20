package assignment

import "math"

// The reduced cost of row i and column j is c_ij − v_j. Invariant: the column of a
// matched row has the least reduced cost u_i of that row. So u_i + v_j ≤ c_ij
// everywhere, with equality on matched pairs, which proves the matching of those rows
// optimal (complementary slackness). Each phase keeps the invariant and matches more
// rows.
//
// Jonker and Volgenant also transfer reductions between columns first, and let a row
// that lost its column choose again at once. Timed on uniform, clustered and
// heavy-tailed clouds, the first gained nothing here and the second made whole
// solutions up to four times slower.

// settled is a column whose shortest distance is known.
type settled struct {
	column   int32
	v        float64 // the dual variable before the search
	distance float64
}

// rounds of row reduction. The time is nearly the same from 2 to 8; more rounds cost
// more than they gain.
const rounds = 4

// solve sets columnOf, rowOf and v from costs.
func (s *Solver) solve() {
	for i := range s.n {
		s.columnOf[i], s.rowOf[i] = -1, -1
	}
	s.reduceColumns()
	s.collectFree()
	for range rounds {
		s.reduceRows()
	}
	s.collectVacant()
	for _, row := range s.free {
		s.augment(int(row))
	}
}

// reduceColumns sets v_j to the least cost of column j and gives the column to
// that row, if it has none yet.
func (s *Solver) reduceColumns() {
	for j := range s.v {
		s.v[j] = math.Inf(1)
	}
	for i := range s.n {
		relax(s.set, s.v, s.from, s.row(i), s.zero, 0, i)
	}
	for j := s.n; j < s.stride; j++ {
		s.v[j] = 0
	}
	for j := s.n - 1; j >= 0; j-- {
		if i := int32(s.from[j]); s.columnOf[i] < 0 {
			s.columnOf[i], s.rowOf[j] = int32(j), i
		}
	}
}

// collectFree lists the rows without a column.
func (s *Solver) collectFree() {
	s.free = s.free[:0]
	for i, j := range s.columnOf {
		if j < 0 {
			s.free = append(s.free, int32(i))
		}
	}
}

// collectVacant lists the columns without a row.
func (s *Solver) collectVacant() {
	s.vacant = s.vacant[:0]
	for j, i := range s.rowOf {
		if i < 0 {
			s.vacant = append(s.vacant, int32(j))
		}
	}
}

// reduceRows gives each free row its best column and lowers v there until the row's
// second best column is as good. The row that had the column before is free in the
// next round.
func (s *Solver) reduceRows() {
	kept := 0 // free[:kept] is for the next round, never beyond the current row
	for _, i := range s.free {
		least, j, second := twoLeast(s.set, s.row(int(i)), s.v)
		if lowered := s.v[j] - (second - least); lowered < s.v[j] {
			s.v[j] = lowered
		} else if s.rowOf[j] >= 0 { // equally good, or too close for rounding
			j = s.equallyGood(int(i), j, least)
		}
		owner := s.rowOf[j]
		s.rowOf[j], s.columnOf[i] = i, int32(j)
		if owner >= 0 {
			s.columnOf[owner] = -1
			s.free[kept] = owner
			kept++
		}
	}
	s.free = s.free[:kept]
}

// equallyGood returns a column as good for the row as j: a free one if there is one,
// else another matched one, else j.
func (s *Solver) equallyGood(row, j int, least float64) int {
	other := j
	for k, c := range s.row(row)[:s.n] {
		if float64(c)-s.v[k] != least {
			continue
		}
		if s.rowOf[k] < 0 {
			return k
		}
		if other == j {
			other = k
		}
	}
	return other
}

// augment matches one more row along the shortest path, in reduced costs, from
// it to a free column (Dijkstra's algorithm), and changes v so that the path's
// edges have the least reduced costs of their rows.
func (s *Solver) augment(start int) {
	distance := s.distance
	for j := range distance {
		distance[j] = math.Inf(1)
	}
	s.closed = s.closed[:0]
	length, j := relax(s.set, distance, s.from, s.row(start), s.v, 0, start)
	for s.rowOf[j] >= 0 {
		// Where points coincide many columns are equally near: take a free one.
		if free, found := s.vacantAt(length); found {
			j = free
			break
		}
		s.closed = append(s.closed, settled{int32(j), s.v[j], length})
		row := int(s.rowOf[j])
		shift := float64(s.costs[row*s.stride+j]) - s.v[j] - length
		// v = −Inf makes the reduced cost of a closed column +Inf, so that relax does
		// not have to ask which columns are closed.
		s.v[j], distance[j] = math.Inf(-1), math.Inf(1)
		length, j = relax(s.set, distance, s.from, s.row(row), s.v, shift, row)
	}
	for _, c := range s.closed {
		s.v[c.column] = c.v + (c.distance - length)
	}
	for k, free := range s.vacant {
		if free == int32(j) {
			s.vacant[k] = s.vacant[len(s.vacant)-1]
			s.vacant = s.vacant[:len(s.vacant)-1]
			break
		}
	}
	for row := -1; row != start; {
		row = int(s.from[j])
		s.rowOf[j] = int32(row)
		before := s.columnOf[row]
		s.columnOf[row] = int32(j)
		j = int(before)
	}
}

// vacantAt returns a free column at that distance.
func (s *Solver) vacantAt(length float64) (column int, found bool) {
	for _, j := range s.vacant {
		if s.distance[j] == length {
			return int(j), true
		}
	}
	return 0, false
}
