-- Of two rows that break a rule the first decides the error, in whichever column: `s` of row 1 is no number, `a` of row 5 is 0.
-- tables: raising
-- errors: exact
-- matrix: ansi=true ; aqe=true ; codegen=true,false
-- expect: error CAST_INVALID_INPUT

SELECT 10 div a, cast(s AS int) FROM raising;
SELECT cast(s AS int), 10 div a FROM raising;
SELECT cast(s AS int) FROM raising WHERE 10 div a > -1;
SELECT k FROM raising WHERE 10 div a > -1 AND cast(s AS int) > -1;
SELECT count(10 div a), sum(cast(s AS int)) FROM raising;
SELECT g, sum(10 div a), sum(cast(s AS int)) FROM raising GROUP BY g;
SELECT g, sum(10 div a), sum(cast(s AS int)) FILTER (WHERE k < 3) FROM raising GROUP BY g;
SELECT a.k FROM raising a JOIN raising b ON a.k = b.k WHERE 10 div (a.a + b.a) > -1 AND cast(a.s AS int) > -1;
-- A sum that overflows before the row that divides by zero.
-- expect: error ARITHMETIC_OVERFLOW
SELECT sum(9223372036854775807 - k), sum(10 div a) FROM raising;
-- Row 1 comes first, but it does not pass.
-- expect: error DIVIDE_BY_ZERO
SELECT 10 div a, cast(s AS int) FROM raising WHERE k > 1;
